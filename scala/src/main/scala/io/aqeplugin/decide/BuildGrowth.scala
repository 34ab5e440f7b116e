package io.aqeplugin.decide

/** A build side that is larger than predicted.
  *
  * @param by
  *   rows that its stage is expected to write, by those predicted; above 1
  * @param tableRows
  *   rows of the table that they come from; none if only their estimate is known, which counts as wrong by the same factor
  */
final case class BuildGrowth(by: Double, tableRows: Option[Long]) {

  def of(build: BuildFacts): BuildFacts = {
    val rows = grown(build.rows)
    build.copy(rows = rows, originRows = tableRows.orElse(build.originRows.map(grown)).map(math.max(_, rows)))
  }

  private def grown(count: Long): Long = ProbeFacts.times(count, by)
}

object BuildGrowth {

  /** How many tasks, itself included, a finished task speaks for. So even if the first tasks have all rows, as those of a sorted table may,
    * no more than twice as many are expected; and of a stage that writes a hundred times the rows predicted, a few tasks say enough. Tasks with
    * few rows end first, so the rows expected are more often too few.
    */
  private val TasksPerFinished = 2.0

  /** The growth that the finished tasks of a stage show.
    *
    * @param rows
    *   rows that they wrote
    * @param tableRows
    *   rows of the table that these come from
    * @param predictedRows
    *   rows of the whole stage
    */
  def seen(doneTasks: Int, tasks: Int, rows: Long, tableRows: Option[RowsSoFar], predictedRows: Double): Option[BuildGrowth] = {
    val expectedRows = if (doneTasks <= 0) 0.0 else math.min(rows.toDouble * tasks / doneTasks, rows * TasksPerFinished)
    val by = expectedRows / math.max(1.0, predictedRows)
    Option.when(by > 1) {
      BuildGrowth(by, tableRows.map(table => if (table.isComplete) table.rows else ProbeFacts.times(table.rows, expectedRows / rows)))
    }
  }
}

/** Rows of a table while a stage runs.
  *
  * @param isComplete
  *   whether they are all rows of it; else those that the finished tasks of the stage read
  */
final case class RowsSoFar(rows: Long, isComplete: Boolean)
