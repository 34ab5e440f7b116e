package io.aqeplugin.tell.ui

import java.util.NoSuchElementException

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.util.kvstore.{KVStore, KVStoreView}

import io.aqeplugin.decide.JoinDecision
import io.aqeplugin.limit.{LimitDecision, LimitOutcome}
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

/** One join of a query with the outcomes of its filters, which are missing while the query runs. */
final case class JoinStory(
    number: Int,
    decision: JoinDecision,
    filters: Seq[PlacedFilter],
    outcomes: Seq[FilterOutcome]
)

/** One limit of a query. */
final case class LimitStory(decision: LimitDecision, applied: Boolean, outcome: Option[LimitOutcome])

/** The kept records of one query. */
final case class QueryStory(query: QueryRecord, joins: Seq[JoinStory], limits: Seq[LimitStory], predicates: Seq[PredicateRecord])

/** Reads the tab's records from Spark's UI store. Has no state of its own. */
final class TabStore(store: KVStore) {

  /** Number of kept queries. */
  def count: Int = store.count(classOf[QueryRecord]).toInt

  def find(executionId: Long): Option[QueryRecord] = read(classOf[QueryRecord], Long.box(executionId))

  def totals: TotalsRecord = read(classOf[TotalsRecord], TotalsRecord.Key).getOrElse(TotalsRecord.Zero)

  /** The queries of one page, latest first. */
  def newest(page: Paging): Seq[QueryRecord] =
    all(store.view(classOf[QueryRecord]).reverse().skip(page.skipped.toLong).max(page.size.toLong))

  /** One query with its joins, limits and predicates in the order of their events; `Left` says why there is none. */
  def query(executionId: Long): Either[String, QueryStory] = for {
    query <- find(executionId).toRight(
      s"There is no record of query $executionId: it has no decided join or limit and no inferred predicate, or it is older than the kept " +
        "queries."
    )
    outcomes <- read(classOf[OutcomesRecord], Long.box(executionId)).fold[Either[String, Seq[FilterOutcome]]](Right(Nil))(record =>
      ReadEvents.outcomes(record.outcomes)
    )
    joins <- firstError(partsOf(classOf[JoinRecord], executionId).sortBy(_.number).map(story(_, outcomes)))
    limits <- firstError(partsOf(classOf[LimitRecord], executionId).sortBy(_.number).map(story))
  } yield QueryStory(query, joins, limits, partsOf(classOf[PredicateRecord], executionId).sortBy(_.number))

  /** Removes the queries with the smallest ids. */
  def forgetOldest(queries: Int): Unit = {
    val ids = all(store.view(classOf[QueryRecord]).max(queries.toLong)).map(_.executionId)
    ids.foreach { id =>
      partsOf(classOf[JoinRecord], id).foreach(join => store.delete(classOf[JoinRecord], join.key))
      partsOf(classOf[LimitRecord], id).foreach(limit => store.delete(classOf[LimitRecord], limit.key))
      partsOf(classOf[PredicateRecord], id).foreach(predicate => store.delete(classOf[PredicateRecord], predicate.key))
      read(classOf[OutcomesRecord], Long.box(id)).foreach(_ => store.delete(classOf[OutcomesRecord], Long.box(id)))
      store.delete(classOf[QueryRecord], Long.box(id))
    }
  }

  /** The records of one kind of a query, in any order. */
  private def partsOf[A](kind: Class[A], executionId: Long): Seq[A] = {
    val id = Long.box(executionId)
    all(store.view(kind).index(PartRecords.ByExecution).first(id).last(id))
  }

  private def story(record: LimitRecord): Either[String, LimitStory] =
    ReadEvents.limit(record.limit).map(limit => LimitStory(limit.decision, record.applied, limit.outcome))

  private def story(record: JoinRecord, outcomes: Seq[FilterOutcome]): Either[String, JoinStory] = for {
    decision <- ReadEvents.joinDecision(record.decision)
    filters <- ReadEvents.placed(record.filters)
  } yield JoinStory(record.number, decision, filters, outcomes.filter(_.joinId == decision.facts.joinId))

  private def firstError[A](parts: Seq[Either[String, A]]): Either[String, Seq[A]] =
    parts.collectFirst { case Left(error) => error }.toLeft(parts.collect { case Right(part) => part })

  private def read[A](kind: Class[A], key: AnyRef): Option[A] =
    try Some(store.read(kind, key))
    catch { case _: NoSuchElementException => None }

  private def all[A](view: KVStoreView[A]): Seq[A] = Using.resource(view.closeableIterator())(_.asScala.toVector)
}

/** Which of several pages is shown.
  *
  * @param number
  *   from 1 to `pages`
  * @param size
  *   number of lines on a page
  */
final case class Paging(number: Int, pages: Int, size: Int) {
  def skipped: Int = (number - 1) * size
}

object Paging {
  val Size = 50

  /** The requested page, or the nearest existing one; the first if no number was requested. */
  def of(asked: Option[String], lines: Int): Paging = {
    val pages = (math.max(1, lines) - 1) / Size + 1
    val number = asked.flatMap(_.trim.toIntOption).getOrElse(1)
    Paging(math.min(math.max(1, number), pages), pages, Size)
  }
}
