package io.aqeplugin.storage

import java.net.URI
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}
import org.apache.spark.TaskContext

/** The local file system under the scheme `cold`, where the driver waits two seconds when it opens a file for the first time. */
final class ColdFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("cold:///")
  override def getScheme: String = "cold"

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    if (Option(TaskContext.get()).isEmpty && ColdFileSystem.opened.add(path.getName)) Thread.sleep(2000)
    super.open(path, bufferSize)
  }
}

object ColdFileSystem {
  private val opened = ConcurrentHashMap.newKeySet[String]()
}
