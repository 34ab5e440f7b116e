package io.aqeplugin.conf

import java.util.Locale

/** The method of a forced option. */
sealed abstract class ForcedMethod

object ForcedMethod {
  case object Broadcast extends ForcedMethod
  case object ShuffledHash extends ForcedMethod
  case object SortMerge extends ForcedMethod

  /** Spark's own choice. */
  case object OfSpark extends ForcedMethod

  /** The model's choice: only the filter is forced. */
  case object OfModel extends ForcedMethod
}

/** What a join can be forced to. */
final class ForcedOption private (val name: String, val method: ForcedMethod, val withFilter: Boolean) extends Named with Serializable {
  private def readResolve(): AnyRef = ForcedOption.fromName(name).getOrElse(this)
  override def toString: String = name
}

object ForcedOption extends DefinedNames[ForcedOption] {
  val Broadcast = option("broadcast", ForcedMethod.Broadcast, withFilter = false)
  val FilteredBroadcast = option("broadcast+filter", ForcedMethod.Broadcast, withFilter = true)
  val ShuffledHash = option("shuffled_hash", ForcedMethod.ShuffledHash, withFilter = false)
  val FilteredShuffledHash = option("shuffled_hash+filter", ForcedMethod.ShuffledHash, withFilter = true)
  val PlainSortMerge = option("plain_sort_merge", ForcedMethod.SortMerge, withFilter = false)
  val FilteredSortMerge = option("filtered_sort_merge", ForcedMethod.SortMerge, withFilter = true)
  val LeaveToSpark = option("leave_to_spark", ForcedMethod.OfSpark, withFilter = false)
  val FilteredLeaveToSpark = option("leave_to_spark+filter", ForcedMethod.OfSpark, withFilter = true)
  val Filter = option("filter", ForcedMethod.OfModel, withFilter = true)
  val NoFilter = option("no_filter", ForcedMethod.OfModel, withFilter = false)

  private def option(name: String, method: ForcedMethod, withFilter: Boolean): ForcedOption =
    define(new ForcedOption(name, method, withFilter))
}

/** The options to which joins are forced.
  *
  * @param joins
  *   by the id of the join
  * @param others
  *   for every other join
  */
final case class Forced(joins: Map[String, ForcedOption], others: Option[ForcedOption]) {
  def of(joinId: String): Option[ForcedOption] = if (this eq Forced.None) scala.None else joins.get(joinId).orElse(others)
}

/** The text form: `inner:ss_item_sk=i_item_sk=broadcast+filter; *=plain_sort_merge`. An option contains no `=`, so an entry is split at its
  * last one. An id contains neither `;` nor blanks at its ends.
  */
object Forced {
  val None: Forced = Forced(Map.empty, scala.None)

  private val AllOthers = "*"

  val Syntax: ConfSyntax[Forced] = ConfSyntax("joins", read(_).toOption, render)

  val Allowed: Allowed[Forced] = io.aqeplugin.conf.Allowed(
    s"entries `join=option` separated by `;`; a join is an id from `explain` or an event, or `$AllOthers` for all others; an option is one of " +
      ForcedOption.All.map(_.name).mkString(", "),
    _ => true,
    identity
  )

  /** What is wrong with a text; none if it is allowed. */
  def problem(text: String): Option[String] = read(text).left.toOption

  private def render(forced: Forced): String =
    (forced.joins.toSeq.sortBy(_._1) ++ forced.others.map(
      AllOthers -> _
    )).map { case (join, option) => s"$join=${option.name}" }.mkString(";")

  /** The options, or what is wrong with the first bad entry. */
  private def read(text: String): Either[String, Forced] = {
    val entries = text.split(";").toSeq.map(_.trim).zipWithIndex.filter(_._1.nonEmpty)
    val options = entries.map { case (entry, index) => readEntry(entry).left.map(problem => s"entry ${index + 1}, '$entry': $problem") }
    options.collectFirst { case Left(problem) => problem }.toLeft(options.collect { case Right(option) => option }).flatMap { read =>
      val joins = read.map(_._1)
      joins.diff(joins.distinct).headOption.map(join => s"$join is there twice").toLeft {
        if (read.isEmpty) None else Forced(read.toMap - AllOthers, read.toMap.get(AllOthers))
      }
    }
  }

  private def readEntry(entry: String): Either[String, (String, ForcedOption)] = entry.lastIndexOf('=') match {
    case -1 => Left("it has no `=`")
    case at =>
      val join = entry.take(at).trim
      val name = entry.drop(at + 1).trim
      if (join.isEmpty) Left("there is no join before the `=`")
      else ForcedOption.fromName(name.toLowerCase(Locale.ROOT)).map(join -> _).toRight(s"'$name' is no option")
  }
}
