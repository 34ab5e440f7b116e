package io.aqeplugin.sketch

import io.aqeplugin.filters.CodeRange

/** The smallest and the largest of many codes. Mutable; belongs to one thread. */
private[sketch] final class CodeExtremes {
  private var min = Long.MaxValue
  private var max = Long.MinValue

  /** Adds the first `count` of `codes`. */
  def add(codes: Array[Long], count: Int): Unit = {
    var lowest = min
    var highest = max
    var i = 0 // once per row
    while (i < count) {
      lowest = math.min(lowest, codes(i))
      highest = math.max(highest, codes(i))
      i += 1
    }
    min = lowest
    max = highest
  }

  def add(range: CodeRange): Unit = {
    min = math.min(min, range.min)
    max = math.max(max, range.max)
  }

  /** None before the first code. */
  def result: Option[CodeRange] = if (min <= max) Some(CodeRange(min, max)) else None
}
