package io.aqeplugin.storage

import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.datasources.{FileStatusCache, HadoopFsRelation, InMemoryFileIndex, PartitionDirectory}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.{IntegerType, LongType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.DataFiles

class IndexedPartitionsSuite extends AnyFunSuite with PluginSession {
  private val schema = new StructType().add("v", LongType)
  private val day = AttributeReference("day", IntegerType)()

  /** Ten partitions by `day`, each of more rows than the one before, and one without a day. */
  private lazy val path: String = {
    val path = folder.resolve("days").toString
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.range(2000).selectExpr("id as v", "cast(nullif(cast(sqrt(id) / 4 as int), 10) as int) as day").repartition(1)
        .write.partitionBy("day").parquet(path)
    }
    path
  }

  private def index(): WalkedIndex = new WalkedIndex(spark, path)

  private def named(index: InMemoryFileIndex): Unit =
    spark.baseRelationToDataFrame(HadoopFsRelation(index, index.partitionSchema, schema, None, new ParquetFileFormat, Map.empty)(spark))
      .createOrReplaceTempView("facts")

  private val conditions: Seq[Seq[Expression]] = Seq(
    Seq(IsNotNull(day)),
    Seq(IsNull(day)),
    Seq(IsNotNull(day), GreaterThan(day, Literal(3))),
    Seq(EqualTo(day, Literal(77))),
    Seq(IsNotNull(AttributeReference("elsewhere", IntegerType)())),
    Nil
  )

  test("the files and the values of the partitions that conditions select are those of a listing") {
    val walked = index()
    conditions.foreach { some =>
      val listed = walked.listFiles(some, Nil)
      val files = listed.flatMap(_.files)
      assert(IndexedPartitions.files(walked, some) == DataFiles(files.size.toLong, files.map(_.getLen).sum), some)
      assert(IndexedPartitions.values(walked, some) == listed.map(_.values), some)
    }
  }

  test("a table without partitions has its files") {
    val flat = new InMemoryFileIndex(spark, Seq(new Path(s"$path/day=3")), Map.empty, None)
    assert(IndexedPartitions.files(flat, Seq(IsNotNull(day))) == DataFiles(flat.allFiles().size.toLong, flat.sizeInBytes))
    assert(IndexedPartitions.values(flat, Seq(IsNotNull(day))).isEmpty)
  }

  test("a listing's partitions have new files when the index was refreshed") {
    val walked = index()
    val before = IndexedPartitions.files(walked, Seq(EqualTo(day, Literal(3))))
    withConf("spark.aqePlugin.mode" -> "off")(spark.range(10).selectExpr("id as v").write.mode("append").parquet(s"$path/day=3"))
    walked.refresh()
    assert(IndexedPartitions.files(walked, Seq(EqualTo(day, Literal(3)))).bytes > before.bytes)
  }

  /** How often the files of the index are walked by a query, after one that was run before. */
  private def walks(index: WalkedIndex, mode: String)(query: => DataFrame): Int = withConf("spark.aqePlugin.mode" -> mode) {
    query.collect()
    val before = index.walks
    query.collect()
    index.walks - before
  }

  Seq(
    "its partition column" -> "select count(*) from facts join small on day = id where id % 2 = 0",
    "its partition column, and a range of it" -> "select count(*) from facts join small on day = id where id % 2 = 0 and day > 3",
    "another column, with partitions selected" -> "select count(*) from facts join small on v = id where day < 5 and id % 2 = 0",
    "another column" -> "select count(*) from facts join small on v = id where id % 2 = 0",
    "a range of its partition column" -> "select count(*) from facts join small on day between id and id + 1 where id % 2 = 0"
  ).foreach { case (what, query) =>
    test(s"no query walks the files of a listing once more than with Spark alone: a join by $what") {
      val walked = index()
      named(walked)
      spark.range(8).createOrReplaceTempView("small")
      val alone = walks(walked, "off")(spark.sql(query))
      assert(alone > 0)
      assert(walks(walked, "apply")(spark.sql(query)) <= alone)
    }
  }
}

/** An index that counts how often its files are walked. */
private class WalkedIndex(spark: SparkSession, path: String)
    extends InMemoryFileIndex(spark, Seq(new Path(path)), Map.empty, None, FileStatusCache.getOrCreate(spark)) {
  private val count = new AtomicInteger

  def walks: Int = count.get

  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] = {
    val _ = count.incrementAndGet()
    super.listFiles(partitionFilters, dataFilters)
  }

  override def allFiles(): Seq[FileStatus] = {
    // The constructor of the index calls it, before there is a count.
    Option(count).foreach(_.incrementAndGet())
    super.allFiles()
  }
}
