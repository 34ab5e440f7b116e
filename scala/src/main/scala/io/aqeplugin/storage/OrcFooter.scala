package io.aqeplugin.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc.OrcFile
import org.apache.spark.sql.types.StructType

/** Reads the row count of an ORC file from its tail. Its statistics are not used. */
private[storage] object OrcFooter {

  /** The row count; throws any exception of the file system. */
  def summary(file: FileStatus, conf: Configuration, schema: StructType): FooterSummary = FooterSummary(rows(file, conf), Map.empty)

  def facts(file: FileStatus, conf: Configuration, columns: Seq[FileColumn]): FooterFacts =
    FooterFacts(rows(file, conf), columns.map(_ -> None).toMap)

  private def rows(file: FileStatus, conf: Configuration): Long = {
    val path = file.getPath
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).filesystem(path.getFileSystem(conf)).maxLength(file.getLen))
    try reader.getNumberOfRows
    finally reader.close()
  }
}
