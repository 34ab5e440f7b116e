package io.aqeplugin.e2e

import java.net.URI
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataFile, DataFiles, Metrics}
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.delta.DeltaLog
import org.scalatest.funsuite.AnyFunSuite

/** Bounds that other writers left wrong: Spark's filters believe them, and the keys of a join hide no row that such a filter finds. */
class LyingStatisticsSuite extends AnyFunSuite with TableFormats {

  // Small tables of Delta count as large ones.
  override protected def applicationConf: Map[String, String] = super.applicationConf + ("spark.sql.files.openCostInBytes" -> "64m")

  /** What one of ten files, which has the keys from 300 to 399, says of them. */
  private sealed abstract class Told(val low: Long, val high: Long)
  private case object Other extends Told(500, 599)
  private case object Crossed extends Told(399, 300)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("wanted", "SELECT id AS k FROM range(1000) WHERE id IN (310, 910)")
  }

  private def relation(format: String, told: Told): String =
    if (format == "iceberg") s"ice.db.$told" else s"$format.`file://${folder.resolve(s"$format$told")}`"

  private def written(format: String, told: Told): Unit = withConf("spark.aqePlugin.mode" -> "off") {
    val rows = spark.sql("SELECT id AS k, -id AS v FROM range(0, 1000, 1, 10)")
    val path = folder.resolve(s"$format$told")
    if (format == "iceberg") rows.writeTo(relation(format, told)).using(format).tableProperty("write.distribution-mode", "none").create()
    else rows.write.format(format).option("compression", "none").save(path.toString)
    format match {
      case "parquet" =>
        edited(fileOfKeys(format, told))(replacedIn(_, footer)(bytes(300) -> bytes(told.low), bytes(399) -> bytes(told.high)))
      case "orc"   => edited(fileOfKeys(format, told))(replacedIn(_, _ => 0)(ofOrc(300, 399) -> ofOrc(told.low, told.high)))
      case "delta" =>
        edited(path.resolve("_delta_log/00000000000000000000.json")) { log =>
          val (low, high) = ("""minValues\":{\"k\":""", """maxValues\":{\"k\":""")
          new String(log, UTF_8).replace(s"${low}300", s"$low${told.low}").replace(s"${high}399", s"$high${told.high}").getBytes(UTF_8)
        }
        Files.delete(path.resolve("_delta_log/00000000000000000000.crc"))
        DeltaLog.clearCache()
      case _ => rewritten(relation(format, told), bound(told.low), bound(told.high))
    }
  }

  private def fileOfKeys(format: String, told: Told): Path =
    Path.of(URI.create(spark.sql(s"SELECT input_file_name() FROM ${relation(format, told)} WHERE k = 310").head().getString(0)))

  private def edited(file: Path)(edit: Array[Byte] => Array[Byte]): Unit = {
    val (before, crc) = (Files.readAllBytes(file), file.resolveSibling(s".${file.getFileName}.crc"))
    val after = edit(before)
    assert(after.length == before.length && !after.sameElements(before), file)
    val _ = Files.write(file, after)
    val _ = Files.deleteIfExists(crc)
  }

  private def replacedIn(file: Array[Byte], from: Array[Byte] => Int)(pairs: (Array[Byte], Array[Byte])*): Array[Byte] = {
    val places = pairs.flatMap { case (old, now) =>
      (from(file) to file.length - old.length).filter(at => file.slice(at, at + old.length).sameElements(old)).map(_ -> now)
    }
    places.foldLeft(file) { case (found, (at, now)) => found.patch(at, now, now.length) }
  }

  /** Where a Parquet file's footer begins, whose length is before its last four bytes. */
  private def footer(file: Array[Byte]): Int = file.length - 8 - ByteBuffer.wrap(file).order(LITTLE_ENDIAN).getInt(file.length - 8)

  private def bytes(whole: Long): Array[Byte] = bound(whole).array

  private def bound(whole: Long): ByteBuffer = {
    val to = ByteBuffer.allocate(8).order(LITTLE_ENDIAN)
    val _ = to.putLong(0, whole)
    to
  }

  /** Statistics of integers as ORC writes them; each number takes two bytes. */
  private def ofOrc(low: Long, high: Long): Array[Byte] = {
    def number(whole: Long) = Array((2 * whole & 0x7f | 0x80).toByte, (2 * whole >> 7).toByte)
    (0x08.toByte +: number(low)) ++ (0x10.toByte +: number(high))
  }

  private def rewritten(name: String, low: ByteBuffer, high: ByteBuffer): Unit = {
    val table = Spark3Util.loadIcebergTable(spark, name)
    val field = Integer.valueOf(table.schema.findField("k").fieldId)
    val honest = table.newScan.includeColumnStats.planFiles.asScala.map(_.file)
      .find(file => file.lowerBounds.get(field).duplicate.order(LITTLE_ENDIAN).getLong == 300).getOrElse(fail("no such file"))
    def withBound(bounds: JavaMap[Integer, ByteBuffer], told: ByteBuffer) = (bounds.asScala.toMap + (field -> told)).asJava
    val metrics = new Metrics(
      java.lang.Long.valueOf(honest.recordCount),
      honest.columnSizes,
      honest.valueCounts,
      honest.nullValueCounts,
      honest.nanValueCounts,
      withBound(honest.lowerBounds, low),
      withBound(honest.upperBounds, high)
    )
    val lying: DataFile = DataFiles.builder(table.spec).copy(honest).withMetrics(metrics).build()
    table.newOverwrite.deleteFile(honest).addFile(lying).commit()
  }

  for (format <- Seq("parquet", "orc", "delta", "iceberg"); told <- Seq(Other, Crossed))
    test(s"$format, ${told.low} to ${told.high} in place of 300 to 399: what a condition with the keys finds, a join finds too") {
      written(format, told)
      val facts = relation(format, told)
      def found(query: String): Set[String] = withoutPlugin(spark.sql(query)).toSet
      val join = s"SELECT f.k FROM $facts f JOIN wanted d ON f.k = d.k"
      val (all, own) = (found(join), Seq(310, 910).flatMap(key => found(s"SELECT k FROM $facts WHERE k = $key")).toSet)
      val joined = withPlugin(spark.sql(join)).rows.toSet
      assert(all.size == 2 && own.subsetOf(joined) && joined.subsetOf(all), s"$all, $own, $joined")
      // Otherwise nothing was told that anybody believes.
      if (told == Other) assert(own.size == 1 && joined == own, s"$own, $joined")
    }

  test("iceberg: bounds too short for a number, at which a condition fails, hide nothing from a join") {
    for ((name, told) <- Seq("nothing" -> "", "short" -> "cut")) {
      withConf("spark.aqePlugin.mode" -> "off")(
        spark.sql("SELECT id AS k, -id AS v FROM range(0, 1000, 1, 10)").writeTo(s"ice.db.$name").using("iceberg").create()
      )
      rewritten(s"ice.db.$name", ByteBuffer.wrap(told.getBytes(UTF_8)), ByteBuffer.wrap(told.getBytes(UTF_8)))
      assert(sameRows(spark.sql(s"SELECT f.k FROM ice.db.$name f JOIN wanted d ON f.k = d.k")).rows.size == 2, name)
    }
  }
}
