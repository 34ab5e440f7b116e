package io.aqeplugin.e2e

/** How much the tests try: a sample in `make test`, everything in `make test-all`. */
object Extent {

  /** Whether every case is tried; the Python tests read the same variable. */
  val TriesAll: Boolean = sys.env.get("AQE_PLUGIN_TESTS").contains("all")

  def cases(sample: Int, whole: Int): Int = if (TriesAll) whole else sample
}
