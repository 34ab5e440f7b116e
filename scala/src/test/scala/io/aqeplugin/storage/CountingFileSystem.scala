package io.aqeplugin.storage

import java.net.URI
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}
import org.apache.spark.TaskContext

/** The local file system under the scheme `counting`, which remembers the files that tasks and the driver open. */
final class CountingFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("counting:///")
  override def getScheme: String = "counting"

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    val _ = CountingFileSystem.opened.add((path.getName, Option(TaskContext.get()).isDefined))
    super.open(path, bufferSize)
  }
}

object CountingFileSystem {
  private val opened = new ConcurrentLinkedQueue[(String, Boolean)]()

  def reset(): Unit = opened.clear()

  /** The files that tasks opened. */
  def byTasks: Set[String] = opened.asScala.collect { case (name, true) => name }.toSet

  /** The files that the driver opened: their footers. */
  def byDriver: Set[String] = opened.asScala.collect { case (name, false) => name }.toSet
}
