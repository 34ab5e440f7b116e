package io.aqeplugin.storage

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  AttributeReference,
  Expression,
  GreaterThanOrEqual,
  InSet,
  LessThanOrEqual,
  Literal
}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, PartitionDirectory}
import org.apache.spark.sql.types.DecimalType
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.{ColumnKeys, FilterSummary}
import io.aqeplugin.observe.{TableFacts, TableStatistics}

/** What is read from files before a scan, and what is pushed into the scan. */
class FileStorageSuite extends AnyFunSuite with PluginSession {

  private lazy val sales: DataFrame = {
    val path = folder.resolve("sales").toString
    // Random payload, so that the files are large enough to be opened.
    spark
      .range(0, 400000, 1, 4)
      .selectExpr(
        "id + 1000 AS k",
        "CAST(id AS INT) AS narrow",
        "CAST(id % 7 AS STRING) AS word",
        "rand(1) AS payload",
        "rand(2) AS more",
        "id % 3 AS part"
      )
      .write
      .partitionBy("part")
      .parquet(path)
    spark.read.parquet(path)
  }

  private val InListMaxKeys = 50

  private def scan(frame: DataFrame): FileSourceScanExec =
    collectFirst(frame.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }.getOrElse(fail("no file scan"))

  private def column(scan: FileSourceScanExec, name: String): Attribute =
    scan.output.find(_.name == name).getOrElse(fail(s"no column $name"))

  private def built(values: Option[Seq[Long]], range: Option[(Long, Long)]): FilterSummary =
    FilterSummary("exact", 8L, Seq(ColumnKeys(range.toSeq, values)), 1L, 0L)

  private def pruned(name: String, summary: FilterSummary, facts: TableStatistics = TableStatistics.None): FileSourceScanExec = {
    val before = scan(sales)
    ScanAdapter.withKnownKeys(before, Seq(column(before, name)), summary, facts, InListMaxKeys).asInstanceOf[FileSourceScanExec]
  }

  test("footers give a table's rows and the ranges of its integer columns only") {
    // A machine that has just started may be slower than planning is willing to wait.
    val facts = eventually(timeout(30.seconds))(FooterStatistics.of(scan(sales)).getOrElse(fail("no facts")))
    assert(facts.rows.exists(found => math.abs(found.rows - 400000L) <= 4000L))
    assert(facts.ranges("k") == ((1000L, 400999L)))
    assert(facts.ranges("narrow") == ((0L, 399999L)))
    assert(!facts.ranges.contains("word"))
    assert(!facts.ranges.contains("payload"))
  }

  test("the footers of small tables are not read") {
    val path = folder.resolve("small").toString
    spark.range(10).write.parquet(path)
    assert(FooterStatistics.of(scan(spark.read.parquet(path))).isEmpty)
  }

  test("storage that hangs delays planning briefly and serves a later query") {
    spark.sparkContext.hadoopConfiguration.set("fs.stalling.impl", classOf[StallingFileSystem].getName)
    assert(sales.columns.nonEmpty)
    val table = spark.read.parquet(s"stalling:${folder.resolve("sales")}")
    StallingFileSystem.stall()
    try {
      val startNanos = System.nanoTime()
      assert(FooterStatistics.of(scan(table)).isEmpty)
      assert(System.nanoTime() - startNanos < 10000000000L)
    } finally StallingFileSystem.goOn()
    assert(eventually(timeout(30.seconds))(FooterStatistics.of(scan(table)).getOrElse(fail("no facts"))).ranges.contains("k"))
  }

  test("a condition that the catalog rejects is not pushed to partitions") {
    spark.sql("CREATE TABLE parted (v INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO parted VALUES (1, 1), (2, 2), (3, 3)")
    val listed = scan(spark.table("parted"))
    val index = listed.relation.location.asInstanceOf[CatalogFileIndex]
    val refusing = listed.copy(relation = listed.relation.copy(location = new RefusingIndex(spark, index.table))(spark))
    def narrowed(before: FileSourceScanExec) =
      ScanAdapter.withKnownKeys(before, Seq(column(before, "p")), built(Some(Seq(2L)), None), TableStatistics.None, InListMaxKeys)
    assert(narrowed(refusing) eq refusing)
    assert(narrowed(listed).asInstanceOf[FileSourceScanExec].selectedPartitions.partitionCount == 1)
  }

  test("keys of more digits than a decimal column leave its range open, since a file may have such values") {
    val price = AttributeReference("price", DecimalType(9, 2))()
    def conditions(ranges: (Long, Long)*) =
      KeyFilters.outsideGaps(KnownKeys(price, ColumnKeys(ranges, None), InListMaxKeys, isWholeKey = true)).map(_.toString)
    assert(conditions(5L -> 7L, 20L -> 30L).size == 3)
    assert(conditions(5L -> 7L, 2000000000L -> 2000000009L) == Seq("GreaterThanOrEqual(price,0.05)"))
    assert(conditions(-2000000000L -> 7L) == Seq("LessThanOrEqual(price,0.07)"))
    assert(conditions(-2000000009L -> -2000000000L).isEmpty)
  }

  test("few keys become an IN list, many a range") {
    val before = scan(sales)
    assert(pruned("k", built(Some(Seq(5L, 7L)), Some((5L, 7L)))).dataFilters.last match {
      case InSet(a: Attribute, values) => a.name == "k" && values == Set(5L, 7L)
      case _                           => false
    })
    assert(pruned("k", built(None, Some((5L, 7L)))).dataFilters.last match {
      case And(GreaterThanOrEqual(_, Literal(5L, _)), LessThanOrEqual(_, Literal(7L, _))) => true
      case _                                                                              => false
    })
    assert(before.dataFilters.isEmpty)
  }

  test("a range that covers nearly a whole column is pushed only to partitions") {
    val facts: TableStatistics = _ => Some(TableFacts(None, ranges = Map("k" -> ((1000L, 400999L)), "part" -> ((0L, 2L)))))
    val unpruned = scan(sales).dataFilters
    assert(pruned("k", built(None, Some((1500L, 400000L))), facts).dataFilters == unpruned)
    assert(pruned("k", built(None, Some((0L, 500000L))), facts).dataFilters == unpruned)
    assert(pruned("k", built(None, Some((1000L, 300000L))), facts).dataFilters.size == unpruned.size + 1)
    assert(pruned("k", built(Some(Seq(1000L, 400999L)), Some((1000L, 400999L))), facts).dataFilters.size == unpruned.size + 1)
    assert(pruned("part", built(None, Some((0L, 2L))), facts).partitionFilters.size == scan(sales).partitionFilters.size + 1)
  }

  test("a partition column prunes partitions, not rows") {
    val scan = pruned("part", built(Some(Seq(1L)), Some((1L, 1L))))
    assert(scan.partitionFilters.nonEmpty && scan.dataFilters.isEmpty)
  }

  test("each column of a key of several leaves out what has none of its values") {
    val before = scan(sales)
    val summary = FilterSummary("exact", 8L, Seq(ColumnKeys(Seq((1L, 1L)), Some(Seq(1L))), ColumnKeys(Seq((5L, 9L)), None)), 1L, 0L)
    val keys = Seq("part", "k").map(column(before, _))
    val read = ScanAdapter.withKnownKeys(before, keys, summary, TableStatistics.None, InListMaxKeys).asInstanceOf[FileSourceScanExec]
    assert(read.selectedPartitions.partitionCount == 1 && before.selectedPartitions.partitionCount == 3)
    assert(read.dataFilters.size == 1 && read.dataFilters.head.references.map(_.name) == Seq("k"))
    // Of one column alone it is not known that its list leaves out much.
    val all = summary.copy(columns = Seq(ColumnKeys.Unknown, ColumnKeys(Seq((1000L, 400999L)), Some(Seq(1000L, 400999L)))))
    val facts: TableStatistics = _ => Some(TableFacts(None, ranges = Map("k" -> ((1000L, 400999L)))))
    assert(ScanAdapter.withKnownKeys(before, keys, all, facts, InListMaxKeys) eq before)
    val unknown = summary.ofFilterAlone
    assert(ScanAdapter.withKnownKeys(before, keys, unknown, TableStatistics.None, InListMaxKeys) eq before)
  }

  test("values that do not fit a narrower column are not listed") {
    def pushed(ranges: (Long, Long)*): Seq[Expression] =
      pruned("narrow", FilterSummary("exact", 8L, Seq(ColumnKeys(ranges, Some(Seq(5L, 1L << 40)))), 1L, 0L)).dataFilters
    assert(pushed((5L, 5L), (1L << 40, 1L << 40)).isEmpty)
    assert(pushed((5L, 1L << 40)) match {
      case Seq(GreaterThanOrEqual(_, Literal(5, _))) => true
      case _                                         => false
    })
  }

  test("an end of a range that does not fit a narrower column is left open") {
    def pushed(low: Long, high: Long): Seq[Expression] = pruned("narrow", built(None, Some((low, high)))).dataFilters
    assert(pushed(5L, 1L << 40) match {
      case Seq(GreaterThanOrEqual(_, Literal(5, _))) => true
      case _                                         => false
    })
    assert(pushed(Long.MinValue, 7L) match {
      case Seq(LessThanOrEqual(_, Literal(7, _))) => true
      case _                                      => false
    })
    assert(pushed(Long.MinValue, Long.MaxValue).isEmpty)
  }

  test("the values of a partition column have a range, and no other column has one") {
    val before = scan(sales)
    assert(PartitionRange.of(before, column(before, "part")).contains((0L, 2L)))
    assert(PartitionRange.of(before, column(before, "k")).isEmpty)
    assert(PartitionRange.of(before, column(before, "word")).isEmpty)
  }

  test("a pruned scan keeps its logical link") {
    assert(pruned("k", built(Some(Seq(5L)), None)).logicalLink == scan(sales).logicalLink)
  }
}

/** A metastore that accepts no condition on partitions. */
private class RefusingIndex(spark: SparkSession, table: CatalogTable) extends CatalogFileIndex(spark, table, 0L) {
  override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] =
    if (partitions.isEmpty) super.listFiles(partitions, data) else throw new UnsupportedOperationException("filters on int partitions")
}
