/** One supported Spark line.
  *
  * @param line
  *   the `major.minor` that users know it by; also the suffix of its source folder `scala-spark-<line>` and of its jar
  * @param sparkVersion
  *   the release that is compiled and tested against
  * @param scalaVersion
  *   the Scala release that Spark release itself was built with
  * @param javaTarget
  *   the oldest Java the line runs on
  * @param isOnMaven
  *   whether Maven Central has the release; else its jars are those of the PySpark package, which has no test jars
  */
final case class SparkLine(line: String, sparkVersion: String, scalaVersion: String, javaTarget: String, isOnMaven: Boolean = true) {

  /** Identifier of the sbt project, e.g. `spark41`. */
  def id: String = "spark" + line.replace(".", "")

  /** Scala binary version, e.g. `2.13`. */
  def scalaBinary: String = scalaVersion.split('.').take(2).mkString(".")
}

/** The one table of Spark lines. A new line is one row of `All`; `CONTRIBUTING.md` lists what else it asks for. */
object SparkLines {

  /** The line that is built by default, tested in full and benchmarked. */
  val Primary: SparkLine = SparkLine("4.1", "4.1.3", "2.13.17", "17")

  /** Every line that is built, newest first. */
  val All: Seq[SparkLine] = Seq(
    SparkLine("4.3", "4.3.0", "2.13.18", "17", isOnMaven = false),
    SparkLine("4.2", "4.2.0", "2.13.18", "17"),
    Primary,
    SparkLine("4.0", "4.0.4", "2.13.16", "17")
  )

  /** The lines that `make test` only compiles and smoke-tests. */
  val Others: Seq[SparkLine] = All.filterNot(_ == Primary)
}
