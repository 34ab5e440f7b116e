package io.aqeplugin.logs

import java.io.FileNotFoundException
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.spark.sql.SparkSession

/** Lists the files that may belong to event logs, on any file system that Hadoop supports. No file is opened. */
object EventLogFiles {

  // As many concurrent listings as an object store answers without throttling.
  private val ListingsAtOnce = 16
  private val RollingFolder = "eventlog_v2_"

  /** The files as a JSON array of `root` (the folder), `path`, `bytes` and `modifiedMillis`: `folder` itself if it is a file, the files
    * directly in it, and those in the folders of rolling logs.
    *
    * Hidden files, and files that vanish meanwhile, are left out.
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
