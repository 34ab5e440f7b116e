package io.aqeplugin.decide

/** How the rows of two sides meet. */
sealed abstract class Method

object Method {
  case object Broadcast extends Method
  case object SortMerge extends Method
}

/** A way to finish a join whose build side is done: a method, with or without a filter on the probe side's scans. */
final case class JoinOption(method: Method, withFilter: Boolean) {

  /** What it is called in events, tables and metrics. */
  def strategy: Strategy = method match {
    case Method.Broadcast => Strategy.Broadcast
    case Method.SortMerge => if (withFilter) Strategy.FilteredSortMerge else Strategy.PlainSortMerge
  }
}

object JoinOption {
  val Broadcast: JoinOption = JoinOption(Method.Broadcast, withFilter = false)
  val FilteredBroadcast: JoinOption = JoinOption(Method.Broadcast, withFilter = true)
  val SortMerge: JoinOption = JoinOption(Method.SortMerge, withFilter = false)
  val FilteredSortMerge: JoinOption = JoinOption(Method.SortMerge, withFilter = true)

  val All: Seq[JoinOption] = Seq(Broadcast, FilteredBroadcast, FilteredSortMerge, SortMerge)

  /** The option of that name; `withFilter` tells the two of a broadcast apart, and agrees with the name of a sort-merge join. */
  def of(strategy: Strategy, withFilter: Boolean): Option[JoinOption] =
    All.find(option => option.strategy == strategy && option.withFilter == withFilter)
}
