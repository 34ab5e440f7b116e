package io.aqeplugin.e2e

import org.scalactic.anyvals.PosInt

/** How many cases the tests run: a sample in `make test`, all on the primary Spark line in `make test-all`. */
object Extent {

  /** Whether every case runs; the Python tests read the same variable. */
  val TriesAll: Boolean = sys.env.get("AQE_PLUGIN_TESTS").contains("all")

  def cases(sample: Int, whole: Int): Int = if (TriesAll) whole else sample

  /** A sample of the cases, evenly spread over all of them. */
  def some[A](sample: Int)(all: Seq[A]): Seq[A] =
    if (TriesAll || sample >= all.size) all else Seq.tabulate(sample)(i => all(i * all.size / sample))

  /** How many random inputs a property of pure code is tried with. */
  def inputs(sample: Int): PosInt = PosInt.ensuringValid(cases(sample, whole = 20 * sample))
}
