package io.aqeplugin.e2e

import org.scalactic.anyvals.PosInt

/** How many cases the tests run: a sample in `make test`, all on the primary Spark line in `make test-all`. */
object Extent {

  /** Whether every case runs; the Python tests read the same variable. */
  val TriesAll: Boolean = sys.env.get("AQE_PLUGIN_TESTS").contains("all")

  def cases(sample: Int, whole: Int): Int = if (TriesAll) whole else sample

  /** How many random inputs a property of pure code is tried with. */
  def inputs(sample: Int): PosInt = PosInt.ensuringValid(cases(sample, whole = 20 * sample))
}
