package io.aqeplugin.storage

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

class IndexedFilesSuite extends AnyFunSuite with PluginSession {

  private def index(path: String): InMemoryFileIndex = new InMemoryFileIndex(spark, Seq(new Path(path)), Map.empty, None)

  private def write(path: String, rows: Int): Unit =
    withConf("spark.aqePlugin.mode" -> "off")(spark.range(rows).repartition(1).write.mode("append").parquet(path))

  test("the files of an index are added up") {
    val path = folder.resolve("added").toString
    write(path, 10)
    write(path, 1000)
    val files = index(path).allFiles()
    assert(IndexedFiles.of(index(path)) == IndexedFiles(2, files.map(_.getLen).sum, files.map(_.getModificationTime).max))
  }

  test("those of partitions are added up once, and all are again when the index was refreshed") {
    val path = folder.resolve("refreshed").toString
    Seq("day=1", "day=2").foreach { part =>
      write(s"$path/$part", 10)
      val kept = index(path)
      val before = IndexedFiles.of(kept)
      assert(IndexedFiles.of(kept) eq before)
      write(s"$path/$part", 10)
      assert(IndexedFiles.of(kept) eq before, "the index does not know the new file either")
      kept.refresh()
      assert(IndexedFiles.of(kept).count == before.count + 1)
    }
  }

  test("those of a table without partitions are added up each time") {
    val path = folder.resolve("flat").toString
    write(path, 10)
    val kept = index(path)
    assert(IndexedFiles.of(kept).count == 1)
    write(path, 10)
    kept.refresh()
    assert(IndexedFiles.of(kept).count == 2)
  }

  test("a folder without files has none") {
    val path = folder.resolve("none").toString
    write(path, 0)
    java.nio.file.Files.list(java.nio.file.Paths.get(path)).filter(_.toString.contains("part-")).forEach(java.nio.file.Files.delete(_))
    assert(IndexedFiles.of(index(path)) == IndexedFiles(0, 0, 0))
  }
}
