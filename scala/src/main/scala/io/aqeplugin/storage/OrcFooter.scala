package io.aqeplugin.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc.OrcFile

/** Reads the row count of an ORC file from its tail. Its statistics are not used. */
private[storage] object OrcFooter {

  def facts(file: FileStatus, conf: Configuration, columns: Seq[FileColumn]): FooterFacts = {
    val path = file.getPath
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).filesystem(path.getFileSystem(conf)).maxLength(file.getLen))
    try FooterFacts(reader.getNumberOfRows, columns.map(_ -> None).toMap)
    finally reader.close()
  }
}
