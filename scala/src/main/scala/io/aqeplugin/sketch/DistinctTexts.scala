package io.aqeplugin.sketch

import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.KeyHasher

/** The distinct texts of a stream, while they are few and short. Codes of texts are hashes, which no source of rows can compare with its
  * values, so the texts themselves are kept.
  *
  * Mutable; belongs to one thread.
  *
  * @param most
  *   number of texts up to which all are kept
  * @param mostBytes
  *   bytes that they have together at most
  */
final class DistinctTexts(most: Int, mostBytes: Int) {
  // By hash, with linear probing; null where there is none.
  private var slots = new Array[UTF8String](DistinctTexts.FirstSlots)
  private var count = 0
  private var bytes = 0L
  private var open = true

  /** Whether no text was left out. */
  def isComplete: Boolean = open

  /** Adds a text, which is copied if it is new.
    *
    * @param hash
    *   of the text, as [[KeyHasher.hashUtf8]] gives it
    */
  def add(hash: Long, text: UTF8String): Unit = if (open) {
    val at = slotOf(slots, hash, text)
    if (slots(at) == null) addNew(at, text)
  }

  /** Adds the texts of another part; none if these are not all. */
  def absorb(texts: Option[Seq[UTF8String]]): Unit = texts match {
    case Some(all) => all.foreach(text => add(KeyHasher.hashUtf8(text), text))
    case None      => close()
  }

  /** The texts in no order; none if some were left out. */
  def result: Option[Seq[UTF8String]] = Option.when(open)(slots.filter(_ != null).toSeq)

  private def addNew(at: Int, text: UTF8String): Unit = {
    count += 1
    bytes += text.numBytes
    if (count > most || bytes > mostBytes) close()
    else {
      slots(at) = text.copy()
      if (count * 2 > slots.length) grow()
    }
  }

  private def close(): Unit = {
    open = false
    slots = Array.empty
  }

  private def grow(): Unit = {
    val larger = new Array[UTF8String](slots.length * 2)
    slots.foreach(text => if (text != null) larger(slotOf(larger, KeyHasher.hashUtf8(text), text)) = text)
    slots = larger
  }

  /** The slot of the text, or the empty one where it belongs. */
  private def slotOf(slots: Array[UTF8String], hash: Long, text: UTF8String): Int = {
    val mask = slots.length - 1
    var at = hash.toInt & mask // once per row of a part with few texts
    while (slots(at) != null && !slots(at).equals(text)) at = (at + 1) & mask
    at
  }
}

private[sketch] object DistinctTexts {
  private val FirstSlots = 16
}
