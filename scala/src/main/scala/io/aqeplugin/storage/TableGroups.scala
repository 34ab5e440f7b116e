package io.aqeplugin.storage

import java.util.concurrent.CompletableFuture

import org.apache.hadoop.fs.FileStatus

/** A few row groups of a table, once the footers of some of its files have been read.
  *
  * @param table
  *   equal for all that are of one state of the table, as far as that is known
  * @param folders
  *   those of the table, or the one that its partitions are in
  */
private[storage] final class TableGroups(val table: AnyRef, val folders: Seq[String]) {

  /** None if the footers could not be read. */
  val found = new CompletableFuture[Option[FoundGroups]]()

  /** What was found, without waiting. */
  def now: Option[FoundGroups] = found.getNow(None)

  def fail(): Unit = { val _ = found.complete(None) }

  def end(footers: Seq[(FileStatus, FooterSummary)]): Unit = {
    val all = footers.flatMap { case (file, footer) => footer.groups.map(file -> _) }
    val bytes = footers.flatMap(_._2.chunkBytes).groupMapReduce(_._1)(_._2)(math.max)
    val files = footers.map { case (file, footer) =>
      FileRanges(
        file.getPath.toString,
        file.getLen,
        footer.ranges.collect { case (column, Some(range)) => column -> range },
        footer.texts.flatMap { case (column, parts) => FooterSummary.covering(parts).map(column -> _) }
      )
    }
    val _ = found.complete(Some(FoundGroups(FooterStatistics.spread(all.size).map(all), bytes, files)))
  }
}

/** @param groups
  *   spread evenly over the files; none of a format without row groups
  * @param chunkBytes
  *   bytes of the largest chunk of each column of a row group, by the name in the file
  * @param files
  *   all whose footers were read
  */
private[storage] final case class FoundGroups(groups: Seq[(FileStatus, RowGroup)], chunkBytes: Map[String, Long], files: Seq[FileRanges])
