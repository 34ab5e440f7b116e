package io.aqeplugin.storage

import java.io.FileNotFoundException

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.metrics.Faults

/** Whether a file is read with the conditions of keys. */
class FormatByTypesSuite extends AnyFunSuite {

  private def faults(error: Throwable): Long = {
    val before = Faults.count
    assert(!FormatByTypes.holds(throw error))
    Faults.count - before
  }

  test("a file whose types cannot be told is read as a whole, and a fault of the plugin's is counted") {
    assert(FormatByTypes.holds(true) && !FormatByTypes.holds(false))
    assert(faults(new NoSuchMethodError("moved")) == 1 && faults(new ClassCastException("another type")) == 1)
    assert(faults(new FileNotFoundException("gone")) == 0, "of which Spark's own reader says more")
  }
}
