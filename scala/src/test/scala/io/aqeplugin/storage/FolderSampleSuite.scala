package io.aqeplugin.storage

import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem, RemoteIterator}
import org.scalatest.funsuite.AnyFunSuite

/** The bytes of a partitioned table from a few of its folders. */
class FolderSampleSuite extends AnyFunSuite {

  private def tableOf(days: Int, hours: Int, bytes: Int): LocalPath = {
    val root = Files.createTempDirectory("aqe-plugin-folders")
    for (day <- 0 until days; hour <- 0 until hours) {
      val folder = Files.createDirectories(root.resolve(s"day=$day").resolve(s"hour=$hour"))
      Files.write(folder.resolve("part-0.parquet"), new Array[Byte](bytes))
      Files.write(folder.resolve(".part-0.parquet.crc"), new Array[Byte](100 * bytes))
    }
    Files.write(root.resolve("_SUCCESS"), new Array[Byte](0))
    root
  }

  private val conf: Configuration = {
    val conf = new Configuration()
    conf.set("fs.listing.impl", classOf[ListingFileSystem].getName)
    conf.set("fs.listing.impl.disable.cache", "true")
    conf
  }

  test("equal partitions count by number times bytes, and few of them are listed") {
    val root = tableOf(days = 300, hours = 6, bytes = 50)
    ListingFileSystem.listed.set(0)
    val sample = FolderSample.of(new Path(s"listing://$root"), 2, conf).getOrElse(fail("no sample"))
    assert(sample.bytes == 300L * 6 * 50)
    assert(sample.files.size == 12 && sample.files.forall(_.getPath.getName == "part-0.parquet"))
    assert(ListingFileSystem.listed.get <= 1 + 12 + 12 * 3)
  }

  test("a folder without partitions has no bytes") {
    val sample = FolderSample.of(new Path(s"listing://${tableOf(0, 0, 0)}"), 1, conf)
    assert(sample.contains(FolderSample(0L, Nil)))
  }

  test("a folder of too many entries is not listed to its end, though none of them is a partition") {
    ListingFileSystem.taken.set(0)
    assert(FolderSample.of(new Path("listing:///crowded"), 1, conf).isEmpty)
    assert(ListingFileSystem.taken.get == FolderSample.MaxEntries + 1)
  }

  test("a table of which one partition has too many entries has no bytes that are known") {
    val root = tableOf(days = 1, hours = 1, bytes = 50)
    ListingFileSystem.taken.set(0)
    Files.createDirectories(root.resolve("day=1").resolve("crowded"))
    assert(FolderSample.of(new Path(s"listing://$root"), 2, conf).isEmpty)
  }
}

/** The local file system under the scheme `listing`, which counts the folders that are listed. */
final class ListingFileSystem extends RawLocalFileSystem {
  override def getUri: java.net.URI = java.net.URI.create("listing:///")
  override def getScheme: String = "listing"
  override def listStatusIterator(path: Path): RemoteIterator[FileStatus] = {
    val _ = ListingFileSystem.listed.incrementAndGet()
    if (path.getName == "crowded") manyFiles(path) else super.listStatusIterator(path)
  }

  private def manyFiles(folder: Path): RemoteIterator[FileStatus] = new RemoteIterator[FileStatus] {
    private val file = new FileStatus(1L, false, 1, 1L, 0L, new Path(folder, "part-0.parquet"))
    override def hasNext: Boolean = ListingFileSystem.taken.get < 3 * FolderSample.MaxEntries
    override def next(): FileStatus = {
      val _ = ListingFileSystem.taken.incrementAndGet()
      file
    }
  }
}

object ListingFileSystem {
  val listed = new AtomicInteger()

  /** Entries that were taken of the folder `crowded`. */
  val taken = new AtomicInteger()
}
