package io.aqeplugin.storage

import org.apache.spark.sql.execution.datasources.InMemoryFileIndex

/** The files of an index as a whole.
  *
  * @param newestMillis
  *   when the newest file was last modified, in milliseconds since 1970; 0 without files
  */
private[storage] final case class IndexedFiles(count: Int, bytes: Long, newestMillis: Long)

private[storage] object IndexedFiles {
  private val known = new PerListing(counted)

  def of(index: InMemoryFileIndex): IndexedFiles = known.of(index)

  private def counted(index: InMemoryFileIndex): IndexedFiles = {
    val files = index.allFiles()
    IndexedFiles(files.size, files.iterator.map(_.getLen).sum, files.iterator.map(_.getModificationTime).maxOption.getOrElse(0L))
  }
}
