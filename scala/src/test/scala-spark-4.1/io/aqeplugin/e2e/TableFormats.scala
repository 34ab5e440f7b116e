package io.aqeplugin.e2e

import java.util.concurrent.atomic.AtomicInteger

import org.apache.iceberg.Schema
import org.apache.iceberg.data.{GenericRecord, Record}
import org.apache.iceberg.data.parquet.GenericParquetWriter
import org.apache.iceberg.deletes.EqualityDeleteWriter
import org.apache.iceberg.metrics.{MetricsReport, MetricsReporter, ScanReport}
import org.apache.iceberg.parquet.Parquet
import org.apache.iceberg.spark.Spark3Util
import org.scalatest.Suite

/** A session with Delta as its own catalog and Iceberg as the catalog `ice`. */
trait TableFormats extends ReadMeter { this: Suite =>

  override protected def applicationConf: Map[String, String] = super.applicationConf ++ interpreted ++ Map(
    "spark.sql.extensions" ->
      "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog" -> "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    // Delta reads its log by a job of 50 tasks.
    "spark.databricks.delta.snapshotPartitions" -> "1",
    // VACUUM lists a table's folders by a job of 10,000 tasks.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism" -> "1",
    "spark.sql.catalog.ice" -> "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type" -> "hadoop",
    "spark.sql.catalog.ice.cache-enabled" -> "false",
    "spark.sql.catalog.ice.metrics-reporter-impl" -> classOf[PlannedScans].getName,
    "spark.sql.catalog.ice.warehouse" -> folder.resolve("ice").toString,
    // Joins are shuffled, so that Spark's own dynamic pruning has no broadcast to prune by.
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  /** Commands, and queries of a format's log, have many projections, whose code takes longer to compile than to interpret. */
  private def interpreted: Map[String, String] =
    if (Extent.TriesAll) Map.empty else Map("spark.sql.codegen.factoryMode" -> "NO_CODEGEN")

  /** Runs statements as Spark alone does. */
  protected def made(statements: String*): Unit =
    withConf("spark.aqePlugin.mode" -> "off")(statements.foreach { text =>
      val _ = spark.sql(text)
    })

  /** Deletes the rows of an Iceberg table with these values by a file that names the values, as streams write them. */
  protected def deletedByValue(table: String, column: String, values: Long*): Unit = {
    val changed = Spark3Util.loadIcebergTable(spark, s"ice.db.$table")
    val schema = changed.schema.select(column)
    val writer: EqualityDeleteWriter[Record] = Parquet.writeDeletes(changed.io.newOutputFile(s"${changed.location}/data/deletes.parquet"))
      .forTable(changed).withSpec(changed.spec).rowSchema(schema).equalityFieldIds(schema.columns.get(0).fieldId)
      .createWriterFunc((of: Schema, message) => GenericParquetWriter.create(of, message)).buildEqualityWriter[Record]()
    values.foreach { value =>
      val record = GenericRecord.create(schema)
      record.set(0, value)
      writer.write(record)
    }
    writer.close()
    changed.newRowDelta().addDeletes(writer.toDeleteFile).commit()
  }
}

/** Counts how often Iceberg plans the files of a scan, which reads the manifests of the table. */
class PlannedScans extends MetricsReporter {
  override def report(report: MetricsReport): Unit = report match {
    case _: ScanReport => val _ = PlannedScans.count.incrementAndGet()
    case _             =>
  }
}

object PlannedScans {
  val count = new AtomicInteger
}
