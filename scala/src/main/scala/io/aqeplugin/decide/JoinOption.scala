package io.aqeplugin.decide

/** How the rows of the two sides are matched. */
sealed abstract class Method

object Method {
  case object Broadcast extends Method
  case object ShuffledHash extends Method
  case object SortMerge extends Method

  val All: Seq[Method] = Seq(Broadcast, ShuffledHash, SortMerge)
}

/** A way to finish a join whose build side has finished: a method, with or without a filter on the probe side's scans. */
final case class JoinOption(method: Method, withFilter: Boolean) {

  /** The option's name in events, tables and metrics. */
  def strategy: Strategy = method match {
    case Method.Broadcast    => Strategy.Broadcast
    case Method.ShuffledHash => Strategy.ShuffledHash
    case Method.SortMerge    => if (withFilter) Strategy.FilteredSortMerge else Strategy.PlainSortMerge
  }
}

object JoinOption {
  val Broadcast: JoinOption = JoinOption(Method.Broadcast, withFilter = false)
  val FilteredBroadcast: JoinOption = JoinOption(Method.Broadcast, withFilter = true)
  val ShuffledHash: JoinOption = JoinOption(Method.ShuffledHash, withFilter = false)
  val FilteredShuffledHash: JoinOption = JoinOption(Method.ShuffledHash, withFilter = true)
  val SortMerge: JoinOption = JoinOption(Method.SortMerge, withFilter = false)
  val FilteredSortMerge: JoinOption = JoinOption(Method.SortMerge, withFilter = true)

  val All: Seq[JoinOption] = Seq(Broadcast, FilteredBroadcast, ShuffledHash, FilteredShuffledHash, FilteredSortMerge, SortMerge)

  /** The option with this name. `withFilter` distinguishes the two options of a hash join; for a sort-merge join the name implies it. */
  def of(strategy: Strategy, withFilter: Boolean): Option[JoinOption] =
    All.find(option => option.strategy == strategy && option.withFilter == withFilter)
}
