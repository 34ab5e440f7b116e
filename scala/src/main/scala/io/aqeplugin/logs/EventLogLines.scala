package io.aqeplugin.logs

import java.io.{FileNotFoundException, InputStream}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration
import org.slf4j.LoggerFactory

/** Reads the requested lines of event logs as a table: `log, position, kind, line`. Executors read them, from any file system that Hadoop
  * supports.
  *
  * Spark's text reader would make a row of every line, although nearly all bytes of an event log are in lines that are not requested.
  */
object EventLogLines {

  private val Columns = StructType.fromDDL("log string, position struct<part: int, offset: bigint>, kind string, line string")
  private val log = LoggerFactory.getLogger(getClass)

  /** The requested lines. A line has the first kind of `asked` whose beginning matches.
    *
    * A file that is gone has no lines. A truncated or damaged file ends with [[DamagedStream.Line]]. A requested line that is too long is
    * skipped with a warning.
    *
    * @param asked
    *   JSON: `kinds` (`name`, `event`, and `members`, the only ones to keep, empty for all), `files` (`log`, `part`, `path`, `bytes`),
    *   `maxLineBytes`, and `taskBytes`, the approximate number of bytes per task
    */
  def read(spark: SparkSession, asked: String): DataFrame = {
    val json = new ObjectMapper().readTree(asked)
    val kinds = json.get("kinds").asScala.map(kindOf).toSeq
    val maxLineBytes = json.get("maxLineBytes").intValue
    val tasks = LogSplit.tasks(json.get("files").asScala.map(fileOf).toSeq, json.get("taskBytes").longValue)
    val conf = spark.sparkContext.broadcast(new SerializableConfiguration(HadoopConf.of(spark)))
    val rows = spark.sparkContext.parallelize(tasks, math.max(1, tasks.size)).flatMap { splits =>
      splits.iterator.flatMap(split => linesOf(split, kinds, maxLineBytes, conf.value.value))
    }
    spark.createDataFrame(rows, Columns)
  }

  private[logs] def linesOf(split: LogSplit, kinds: Seq[LineKind], maxLineBytes: Int, conf: Configuration): Iterator[Row] = {
    val path = new Path(split.path)
    opened(path, split, conf).fold(Iterator.empty[Row]) { case Opened(in, until) =>
      // A line that begins exactly where the split does is recognized by the newline before it.
      val from = math.max(0L, split.start - 1)
      val scanner = new LineScanner(in, kinds, maxLineBytes, from, until, inLine = split.start > 0, tooLong(path, maxLineBytes, _))
      for {
        line <- closedAtEnd(scanner, in)
        text <- if (line.kind.members.isEmpty) Some(line.text) else KeptMembers.of(line.bytes, line.kind.members)
      } yield Row(split.log, Row(split.part, line.offset), line.kind.name, text)
    }
  }

  /** The lines that begin before `until` in what a file holds. */
  private final case class Opened(in: InputStream, until: Long)

  /** A compressed file that was split by the name of one without compression is read as a whole for its first split. */
  private def opened(path: Path, split: LogSplit, conf: Configuration): Option[Opened] =
    try {
      val file = path.getFileSystem(conf).open(path)
      try {
        val head = file.readNBytes(LogCompression.HeadBytes)
        val isCompressed = LogCompression.of(path.getName, head).isDefined
        file.seek(math.max(0L, split.start - 1))
        if (split.start > 0 && isCompressed) {
          file.close()
          None
        } else {
          val in = new HeldStream(if (split.start > 0) file else LogCompression.opened(path.getName, file))
          Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => in.close()))
          Some(Opened(in, if (isCompressed) Long.MaxValue else split.until))
        }
      } catch {
        case NonFatal(error) =>
          file.close()
          throw error
      }
    } catch {
      // The file was renamed after it was listed, as when its application ended. The next run finds its new name.
      case _: FileNotFoundException => None
    }

  private def closedAtEnd(lines: Iterator[WantedLine], in: InputStream): Iterator[WantedLine] =
    lines ++ {
      in.close()
      Iterator.empty
    }

  private def tooLong(path: Path, maxLineBytes: Int, offset: Long): Unit =
    log.warn(s"$path: the line at byte $offset is longer than $maxLineBytes bytes and is skipped")

  private def kindOf(json: JsonNode): LineKind =
    LineKind(json.get("name").textValue, json.get("event").textValue, json.get("members").asScala.map(_.textValue).toSet)

  private def fileOf(json: JsonNode): LogFile =
    LogFile(json.get("log").textValue, json.get("part").intValue, json.get("path").textValue, json.get("bytes").longValue)
}
