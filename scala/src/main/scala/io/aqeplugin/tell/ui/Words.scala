package io.aqeplugin.tell.ui

import scala.xml.Node

import io.aqeplugin.decide._
import io.aqeplugin.infer.InferredBy
import io.aqeplugin.limit.{LimitChoice, LimitDecision, LimitFacts, LimitOperator}
import io.aqeplugin.tell.{ExplainText, Quantity}
import io.aqeplugin.tell.ui.Html.{el, text}

/** Decisions as text. */
object Words {

  /** The option's name, with its filter if the name does not imply one. */
  def option(option: JoinOption): String = named(option.strategy, option.withFilter)

  /** The decision's name. */
  def choice(decision: JoinDecision): String = named(decision.choice, decision.buildFilter)

  def choice(by: Unforced): String = named(by.choice, by.buildFilter)

  /** What Spark by itself does with the join. */
  def ofSpark(facts: JoinFacts): String = facts.sparkStrategy match {
    case Strategy.FilteredSortMerge | Strategy.PlainSortMerge => "sort-merge"
    case Strategy.LeaveToSpark                                => ExplainText.NotPriced
    case other                                                => choiceName(other.name)
  }

  private def named(strategy: Strategy, withFilter: Boolean): String = {
    val name = choiceName(strategy.name)
    if (withFilter && strategy != Strategy.FilteredSortMerge) s"$name with filter" else name
  }

  def choiceName(name: String): String = Strategy.fromName(name) match {
    case Some(Strategy.Broadcast)         => "broadcast"
    case Some(Strategy.ShuffledHash)      => "shuffled hash"
    case Some(Strategy.FilteredSortMerge) => "filtered sort-merge"
    case Some(Strategy.PlainSortMerge)    => "plain sort-merge"
    case Some(Strategy.LeaveToSpark)      => "left to Spark"
    case None                             => name
  }

  /** What joins saved. */
  def saved(sums: SavingSums): String = {
    val bytes = Seq(sums.shuffleBytes -> "of shuffles not written", sums.unreadBytes -> "of partitions and files not read").collect {
      case (bytes, what) if bytes > 0 => s", ${Quantity.of(bytes, "bytes")} $what"
    }
    s"${Quantity.of(sums.elapsedMillis, "millis")}, of all cores ${Quantity.of(sums.processorMillis, "millis")}${bytes.mkString}; " +
      s"predicted by price, in ${Quantity.of(sums.joins, if (sums.joins == 1) "join" else "joins")}"
  }

  /** What takes how many rows. */
  def limit(facts: LimitFacts): String = {
    val operator = facts.operator match {
      case LimitOperator.Collect => "limit of the query"
      case LimitOperator.Inner   => "limit inside the query"
      case LimitOperator.Top     => "first rows of a sort"
    }
    s"$operator, ${Quantity.of(facts.rowsWanted, "rows")}"
  }

  /** What the scan below a limit reads. */
  def choice(limit: LimitDecision): String = limit.choice match {
    case LimitChoice.FewestFiles  => "fewest files"
    case LimitChoice.Waves        => "files in waves"
    case LimitChoice.TopFiles     => "files of the first rows"
    case LimitChoice.LeaveToSpark => "left to Spark"
  }

  /** How a predicate was inferred: code and meaning. */
  def inferredBy(name: String): Seq[Node] =
    Seq(el("code")(text(name))) ++ InferredBy.All.find(_.name == name).map(by => text(s" ${by.meaning}"))

  def choices(counts: Seq[ChoiceCount]): String =
    if (counts.isEmpty) "none" else counts.map(count => s"${Quantity.of(count.joins, "")} ${choiceName(count.choice)}").mkString(", ")

  /** The type and the keys of a join. */
  def join(facts: JoinFacts): String =
    s"${facts.kind.name.replace('_', ' ')} join on ${facts.keys.map(Html.cut(_, MaxKeyLength)).mkString(", ")}"

  /** The sizes of both sides. */
  def sides(facts: JoinFacts): String = {
    val table = facts.build.originRows.fold("")(rows => s" of ${Quantity.of(rows, "")}${from(facts.build.originRowsSource)}")
    val build =
      if (facts.build.rows < 0) "size unknown"
      else s"${Quantity.of(facts.build.rows, "rows")}$table, ${Quantity.of(facts.build.memoryBytes, "bytes")} in memory"
    val probe =
      if (facts.probe.rows < 0) "size unknown" else s"about ${Quantity.of(facts.probe.rows, "rows")}${from(facts.probe.rowsSource)}"
    s"build side ${facts.buildSide.name}: $build; probe side: $probe"
  }

  private def from(source: Option[EstimateSource]): String = source.fold("")(known => s" (${known.name})")

  /** The cells of a reason: code and meaning, measured value, limit, conf key. */
  def reason(reason: Reason): Seq[Seq[Node]] = Seq(
    Seq(el("code")(text(reason.code.name)), text(s" ${reason.code.meaning}")) ++
      Option(reason.subject).filter(_.nonEmpty).toSeq.flatMap(name => Seq(text(": "), el("code")(text(name)))),
    reason.measured.map(value => text(Quantity.of(value, reason.unit))).toSeq,
    reason.limit.map(value => text(Quantity.of(value, reason.unit))).toSeq,
    Option(reason.confKey).filter(_.nonEmpty).map(key => el("code")(text(key))).toSeq
  )

  /** As above, in one cell. */
  def reasonInOneCell(reason: Reason): Seq[Node] = {
    val details = Seq(reason.subject, Quantity.of(reason), reason.confKey).filter(_.nonEmpty).mkString(", ")
    val end = if (details.isEmpty) ")" else s": $details)"
    Seq(text(s"${reason.code.meaning} ("), el("code")(text(reason.code.name)), text(end))
  }

  val ReasonHeaders: Seq[String] = Seq("Why", "Measured", "Limit", "Conf key of the limit")

  private val MaxKeyLength = 300
}
