package io.aqeplugin.logs

/** A part of an event log file, with the lines that begin in it.
  *
  * @param log
  *   the application attempt; `part` is the file's number in it
  * @param start
  *   offset of the first byte; 0 in a file with a name of a compressed one, which cannot be split
  * @param until
  *   offset after the last byte; `Long.MaxValue` to read the file to its end
  */
final private[logs] case class LogSplit(log: String, part: Int, path: String, start: Long, until: Long)

private[logs] object LogSplit {

  /** The tasks that read `files`, of about `taskBytes` each; one task reads all of a compressed file. */
  def tasks(files: Seq[LogFile], taskBytes: Long): Seq[Seq[LogSplit]] = {
    val splits = files.flatMap(file => of(file, taskBytes)).sortBy { case (split, bytes) => (-bytes, split.path, split.start) }
    val (tasks, last, _) = splits.foldLeft((Vector.empty[Seq[LogSplit]], Vector.empty[LogSplit], 0L)) {
      case ((full, task, size), (split, bytes)) =>
        if (task.nonEmpty && size + bytes > taskBytes) (full :+ task, Vector(split), bytes) else (full, task :+ split, size + bytes)
    }
    if (last.isEmpty) tasks else tasks :+ last
  }

  private def of(file: LogFile, taskBytes: Long): Seq[(LogSplit, Long)] =
    if (LogCompression.isCompressed(file.path)) Seq((LogSplit(file.log, file.part, file.path, 0L, Long.MaxValue), file.bytes))
    else
      (0L until file.bytes by taskBytes).map { start =>
        val until = math.min(start + taskBytes, file.bytes)
        (LogSplit(file.log, file.part, file.path, start, until), until - start)
      }
}

/** An event log file, with its size when it was listed. */
final private[logs] case class LogFile(log: String, part: Int, path: String, bytes: Long)
