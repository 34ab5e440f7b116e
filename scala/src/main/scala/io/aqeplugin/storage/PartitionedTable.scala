package io.aqeplugin.storage

import scala.collection.mutable.ArrayBuffer
import scala.util.{Random, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path, RemoteIterator}
import org.apache.spark.sql.catalyst.QualifiedTableName
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, InMemoryFileIndex, LogicalRelation}

/** A table whose partitions the catalog keeps. Its scans know only the partitions that they select.
  *
  * @param folder
  *   the folder that the partitions are in, unless somebody gave one a place of its own
  * @param columns
  *   number of partition columns, which is that of folders below each other
  */
final private[storage] case class PartitionedTable(folder: Path, columns: Int)

private[storage] object PartitionedTable {

  def of(scan: FileSourceScanExec): Option[PartitionedTable] = scan.relation.location match {
    case _: CatalogFileIndex | _: InMemoryFileIndex => catalogTable(scan).filter(isKeptInCatalog(scan, _)).flatMap { table =>
        table.storage.locationUri.map(uri => PartitionedTable(new Path(uri), table.partitionColumnNames.size))
      }
    case _ => None
  }

  /** The table in the catalog, as it is without any partition pruned: Spark gives a pruned scan the statistics of its partitions. */
  def unpruned(scan: FileSourceScanExec): Option[CatalogTable] = catalogTable(scan).flatMap { table =>
    val isPruned = isKeptInCatalog(scan, table) && !scan.relation.location.isInstanceOf[CatalogFileIndex]
    if (isPruned) kept(scan, table) else Some(table)
  }

  private def kept(scan: FileSourceScanExec, table: CatalogTable): Option[CatalogTable] = Try {
    val catalog = scan.relation.sparkSession.sessionState.catalog
    val name = catalog.qualifyIdentifier(table.identifier)
    val cached = for (space <- name.catalog; database <- name.database)
      yield catalog.getCachedTable(QualifiedTableName(space, database, name.table))
    cached.flatMap(Option(_)).collect { case relation: LogicalRelation => relation.catalogTable }.flatten
      .getOrElse(catalog.getTableMetadata(name))
  }.toOption

  private def catalogTable(scan: FileSourceScanExec): Option[CatalogTable] = {
    val scanned = scan.output.map(_.exprId).toSet
    scan.logicalLink.flatMap(_.collectFirst {
      case relation: LogicalRelation if relation.output.exists(column => scanned(column.exprId)) => relation.catalogTable
    }).flatten
  }

  private def isKeptInCatalog(scan: FileSourceScanExec, table: CatalogTable): Boolean =
    scan.conf.manageFilesourcePartitions && table.tracksPartitionsInCatalog && table.partitionColumnNames.nonEmpty
}

/** The bytes of a table's files, estimated from those in a few of its folders.
  *
  * @param files
  *   some of the files
  */
private[storage] final case class FolderSample(bytes: Long, files: Seq[FileStatus])

private[storage] object FolderSample {
  private val Folders = 12
  private val FilesKept = 12

  /** A folder with more entries, of whatever kind, is not listed to its end. */
  private[storage] val MaxEntries = 1000000

  /** Lists the folder of a partitioned table, and the folders below it for a few of its partitions. Entries are counted as they come and not
    * kept, so the memory does not grow with the number of partitions.
    *
    * @param levels
    *   number of partition columns
    * @return
    *   none when one of the folders has too many entries
    */
  def of(folder: Path, levels: Int, conf: Configuration): Option[FolderSample] = {
    // The same table gives the same sample.
    val random = new Random(folder.toString.hashCode)
    below(folder.getFileSystem(conf), folder, levels, Folders, random)
  }

  private def below(fs: FileSystem, folder: Path, levels: Int, width: Int, random: Random): Option[FolderSample] = {
    val listed = fs.listStatusIterator(folder)
    entries(listed, if (levels > 0) width else FilesKept, isFolder = levels > 0, random).flatMap { case (count, some, bytes) =>
      if (levels == 0) Some(FolderSample(bytes, some))
      else {
        val listed = some.iterator.map(part => below(fs, part.getPath, levels - 1, math.max(2, width / 4), random))
        val parts = listed.takeWhile(_.isDefined).flatten.toSeq
        Option.when(parts.size == some.size)(of(count, parts, random))
      }
    }
  }

  private def of(count: Int, parts: Seq[FolderSample], random: Random): FolderSample = {
    val mean = if (parts.isEmpty) 0.0 else parts.map(_.bytes.toDouble).sum / parts.size
    FolderSample((mean * count).toLong, random.shuffle(parts.flatMap(_.files)).take(FilesKept))
  }

  /** The number of the entries of one kind, a uniform sample of them (Vitter's algorithm R), and their bytes; none if there are too many
    * entries.
    */
  private def entries(
      listed: RemoteIterator[FileStatus],
      sampleSize: Int,
      isFolder: Boolean,
      random: Random
  ): Option[(Int, Seq[FileStatus], Long)] = {
    val sample = ArrayBuffer.empty[FileStatus]
    var all = 0
    var count = 0
    var bytes = 0L
    while (all <= MaxEntries && listed.hasNext) {
      val entry = listed.next()
      all += 1
      if (entry.isDirectory == isFolder && !isHidden(entry.getPath.getName)) {
        count += 1
        bytes += entry.getLen
        if (sample.size < sampleSize) sample += entry
        else {
          val place = random.nextInt(count)
          if (place < sampleSize) sample(place) = entry
        }
      }
    }
    Option.when(all <= MaxEntries)((count, sample.toSeq, bytes))
  }

  private def isHidden(name: String): Boolean = name.startsWith("_") && !name.contains("=") || name.startsWith(".")
}
