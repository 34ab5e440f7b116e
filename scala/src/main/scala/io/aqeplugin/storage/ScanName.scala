package io.aqeplugin.storage

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** The name of what a scan reads, as events and EXPLAIN say it. */
object ScanName {
  def of(scan: SparkPlan): String = scan match {
    case file: FileSourceScanExec =>
      file.tableIdentifier.map(_.unquotedString).orElse(file.relation.location.rootPaths.headOption.map(_.getName)).getOrElse("files")
    case batch: BatchScanExec if batch.table.name.nonEmpty => batch.table.name
    case other                                             => HiveScan.of(other).map(_.relation.tableMeta.identifier.unquotedString)
        .orElse(CacheScan.of(other).map(cache => cache.relation.cacheBuilder.tableName.getOrElse(cache.nodeName))).getOrElse(other.nodeName)
  }
}
