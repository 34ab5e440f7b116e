package io.aqeplugin.logs

import java.io.FileNotFoundException
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.spark.sql.SparkSession

/** The files that may belong to event logs, from any file system that Hadoop knows; nothing is opened. */
object EventLogFiles {

  // As many listings as an object store answers at a time without complaint.
  private val ListingsAtOnce = 16
  private val RollingFolder = "eventlog_v2_"

  /** A file: `folder` itself, one directly in it, or one in a rolling log's folder there, as a JSON array of `root` (the folder), `path`, `bytes` and `modifiedMillis`.
    *
    * Hidden files are passed over; what vanishes meanwhile is not there.
    *
    * @throws java.io.FileNotFoundException
    *   there is no such file or folder
    */
  def below(spark: SparkSession, folder: String): String = {
    val path = new Path(folder)
    val files = path.getFileSystem(HadoopConf.of(spark))
    val root = files.getFileStatus(path)
    val found = if (root.isDirectory) inFolder(files, root.getPath) else Seq(root)
    val json = new ObjectMapper()
    val list = json.createArrayNode()
    found.foreach { file =>
      list
        .addObject()
        .put("root", root.getPath.toString)
        .put("path", file.getPath.toString)
        .put("bytes", file.getLen)
        .put("modifiedMillis", file.getModificationTime)
    }
    json.writeValueAsString(list)
  }

  private def inFolder(files: FileSystem, folder: Path): Seq[FileStatus] = {
    val (folders, single) = visible(files, folder).partition(_.isDirectory)
    val rolling = folders.map(_.getPath).filter(_.getName.startsWith(RollingFolder))
    val pool = Executors.newFixedThreadPool(ListingsAtOnce)
    try {
      val listings = rolling.map(path => (() => visible(files, path).filterNot(_.isDirectory)): Callable[Seq[FileStatus]])
      single ++ pool.invokeAll(listings.asJava).asScala.flatMap(_.get())
    } finally pool.shutdown()
  }

  private def visible(files: FileSystem, folder: Path): Seq[FileStatus] =
    try files.listStatus(folder).toSeq.filterNot(file => file.getPath.getName.startsWith(".") || file.getPath.getName.startsWith("_"))
    catch { case _: FileNotFoundException => Seq.empty }
}
