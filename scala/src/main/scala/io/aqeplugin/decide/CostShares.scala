package io.aqeplugin.decide

/** One stage that ran.
  *
  * @param taskMillis
  *   run time of its tasks without what has no price and is known: reading files
  * @param otherWork
  *   it did more that has no price
  */
final case class StageWork(taskMillis: Double, otherWork: Boolean)

/** What one join did where.
  *
  * @param predictedMillis
  *   the price of `option`, which ran
  * @param weights
  *   by stage, what the join was expected to cost there
  */
final case class JoinWork(
    joinId: String,
    option: JoinOption,
    predictedMillis: Double,
    weights: Map[Int, Double],
    driverMillis: Double,
    slots: Int
)

/** Divides the time of stages between the joins that worked in them, in the ratio of what each was expected to cost there.
  *
  * A stage in which nothing was expected to cost anything is divided evenly. All shares of a stage together are its time, so no time is counted twice.
  */
object CostShares {

  /** One cost for each of `joins`, in order. A stage that is not among `stages` took no time. */
  def of(stages: Map[Int, StageWork], joins: Seq[JoinWork]): Seq[JoinCost] = {
    val inStage = joins.flatMap(_.weights.toSeq).groupMap(_._1)(_._2)
    joins.map { join =>
      val known = join.weights.toSeq.flatMap { case (stage, weight) => stages.get(stage).map((_, weight, inStage(stage))) }
      val taskMillis = known.map { case (stage, weight, all) => stage.taskMillis * share(weight, all) }.sum
      val cost = MeasuredCost(
        strategy = join.option.strategy,
        withFilter = join.option.withFilter,
        predictedMillis = join.predictedMillis,
        costMillis = taskMillis / math.max(1, join.slots) + join.driverMillis,
        taskMillis = taskMillis,
        driverMillis = join.driverMillis,
        shared = known.exists(_._3.size > 1),
        otherWork = known.exists(_._1.otherWork)
      )
      JoinCost(join.joinId, Right(cost))
    }
  }

  private def share(weight: Double, all: Seq[Double]): Double = {
    // Divided by the largest first: the sum of prices of damaged statistics is finite only so.
    val largest = all.max
    if (largest > 0) (weight / largest) / all.map(_ / largest).sum else 1.0 / all.size
  }
}
