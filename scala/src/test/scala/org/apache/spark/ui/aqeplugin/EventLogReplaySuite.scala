package org.apache.spark.ui.aqeplugin

import java.util.ServiceLoader
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkConf
import org.apache.spark.scheduler.{ReplayListenerBus, SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.status.{AppHistoryServerPlugin, ElementTrackingStore, KVUtils}
import org.apache.spark.util.JsonProtocol
import org.apache.spark.util.kvstore.InMemoryStore
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.tell.ui._

/** Event logs in the History Server: Spark's own reader, with the listener that it finds by itself. */
class EventLogReplaySuite extends AnyFunSuite {

  private def written(event: SparkListenerEvent): String = JsonProtocol.sparkEventToJsonString(event)

  private val decided = TabEvents.decided(3, filters = s"[${TabEvents.placed()}]")
  private val ended = TabEvents.ended(3)

  private def plugin: AppHistoryServerPlugin = {
    val found = ServiceLoader.load(classOf[AppHistoryServerPlugin]).asScala.filter(_.getClass.getName.contains("aqeplugin")).toSeq
    assert(found.size == 1)
    found.head
  }

  /** The content of the store after the log was read, and whether it was read to its last line. */
  private def replayed(lines: String*): (TabStore, Boolean) = {
    val kv = new InMemoryStore()
    val conf = new SparkConf(loadDefaults = false).set("spark.appStateStore.asyncTracking.enable", "false")
    val bus = new ReplayListenerBus()
    plugin.createListeners(conf, new ElementTrackingStore(kv, conf)).foreach(bus.addListener)
    val sawEnd = new AtomicBoolean()
    bus.addListener(new SparkListener {
      override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = sawEnd.set(true)
    })
    bus.replay((lines :+ written(SparkListenerApplicationEnd(1))).iterator, "test", maybeTruncated = false, _ => true)
    (new TabStore(kv), sawEnd.get)
  }

  test("events are read back unchanged") {
    Seq(decided, ended).foreach { event =>
      val read = JsonProtocol.sparkEventFromJson(written(event))
      assert(read.getClass == event.getClass && written(read) == written(event))
    }
  }

  test("a log gives the same records as the running application") {
    val live = new InMemoryStore()
    val listener = new TabListener(live, 1000)
    Seq(decided, ended).foreach(listener.onOtherEvent)
    val (store, whole) = replayed(written(decided), written(ended))
    assert(whole)
    assert(store.query(3) == new TabStore(live).query(3))
    assert(store.query(3).map(_.joins.flatMap(_.outcomes).size) == Right(1))
    assert(store.totals == new TabStore(live).totals)
  }

  test("unknown members of an event are ignored") {
    val older = written(ended).replaceFirst("\\{", """{"joinCosts":[{"joinId":"j","unmeasured":"query_failed"}],""")
    assert(older != written(ended))
    def query(end: String) = replayed(written(decided), end)._1.query(3)
    assert(query(older).isRight && query(older) == query(written(ended)))
  }

  test("the end of a query that was written before savings were is read without them") {
    val older = written(ended).replace(""","savings":[]""", "")
    assert(older != written(ended))
    val (store, _) = replayed(written(decided), older)
    assert(store.query(3) == replayed(written(decided), written(ended))._1.query(3) && store.totals.skipped == 0)
  }

  test("events of other versions are counted and skipped, and the rest is read") {
    def event(name: String, rest: String): String = s"""{"Event":"io.aqeplugin.tell.$name"$rest}"""
    val strange = Seq(
      event("JoinDecided", ""),
      event("JoinDecided", ""","schemaVersion":2,"executionId":"an id of text","decision":"text","later":{}"""),
      event("JoinDecided", ""","schemaVersion":{"major":2},"executionId":[1],"timeMillis":"now","mode":7,"decision":[],"filters":{}"""),
      event("JoinDecided", ""","schemaVersion":1,"executionId":1,"decision":{"schemaVersion":1,"choice":"teleport"}"""),
      event("QueryEnded", ""","schemaVersion":0,"executionId":null,"planned":"many","outcomes":7"""),
      event("QueryEnded", ""","schemaVersion":99,"errors":1.5e300""")
    )
    val notOurs = event("LaterEvent", ""","schemaVersion":2""")
    val (store, whole) = replayed(strange ++ Seq(notOurs, written(decided), written(ended)): _*)
    assert(whole, "the log was not read to its end")
    assert(store.totals.skipped == strange.size)
    assert(store.query(3).map(_.query.ended) == Right(true))
  }

  test("an application without the plugin gets no tab") {
    val (store, whole) = replayed()
    assert(whole && !store.totals.nonEmpty)
  }

  test("a History Server with a store on disk reads the same records") {
    val kv = new InMemoryStore()
    val listener = new TabListener(kv, 1000)
    Seq(decided, ended, TabEvents.decided(4)).foreach(listener.onOtherEvent)
    val disk = new KVUtils.KVStoreScalaSerializer
    Seq(classOf[QueryRecord], classOf[JoinRecord], classOf[OutcomesRecord], classOf[TotalsRecord]).foreach { kind =>
      val records = kv.view(kind).iterator().asScala.toSeq
      assert(records.nonEmpty, kind)
      records.foreach(record => assert(disk.deserialize(disk.serialize(record), kind) == record))
    }
    // Numbers of another width would compare equal, but fail when they are added up.
    val totals = disk.deserialize(disk.serialize(new TabStore(kv).totals), classOf[TotalsRecord])
    assert(totals.choices.map(_.joins).sum == 2)
  }

  test("a History Server of another Spark line gets no listener") {
    assert(RuntimeFiltersTab.replayListener("3.5.1", new SparkConf(false), new InMemoryStore()).isEmpty)
  }
}
