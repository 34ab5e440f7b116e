package io.aqeplugin.storage

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

import io.aqeplugin.exec.ColumnKeys

/** The files of a table that may hold keys, for a scan whose conditions chose among all files before.
  *
  * @param all
  *   the table's own index
  * @param keys
  *   by the names of their columns; indexes of the same table are equal if these are
  */
private[storage] final case class FilesOfKeys(all: FileIndex, keys: Seq[(String, ColumnKeys)])(listed: Seq[PartitionDirectory])
    extends FileIndex {
  override def rootPaths: Seq[Path] = all.rootPaths
  override def partitionSchema: StructType = all.partitionSchema
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] = listed
  override def inputFiles: Array[String] = listed.flatMap(_.files.map(_.getPath.toString)).toArray
  override def sizeInBytes: Long = listed.flatMap(_.files.map(_.getLen)).sum

  // They are those of one version of the table.
  override def refresh(): Unit = ()
}

private[storage] object FilesOfKeys {

  /** The table's own index. */
  def all(index: FileIndex): FileIndex = index match {
    case some: FilesOfKeys => some.all
    case own               => own
  }

  /** The same table, of which only some files are read. */
  def among(index: FileIndex, column: String, keys: ColumnKeys, listed: Seq[PartitionDirectory]): FilesOfKeys = index match {
    case some: FilesOfKeys => FilesOfKeys(some.all, some.keys :+ (column -> keys))(listed)
    case own               => FilesOfKeys(own, Seq(column -> keys))(listed)
  }
}
