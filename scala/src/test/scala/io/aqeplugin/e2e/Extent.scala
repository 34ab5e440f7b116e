package io.aqeplugin.e2e

/** How many cases the tests run: a sample in `make test`, all on the primary Spark line in `make test-all`. */
object Extent {

  /** Whether every case runs; the Python tests read the same variable. */
  val TriesAll: Boolean = sys.env.get("AQE_PLUGIN_TESTS").contains("all")

  def cases(sample: Int, whole: Int): Int = if (TriesAll) whole else sample
}
