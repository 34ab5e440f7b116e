package io.aqeplugin.storage

import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.decide.Reason
import io.aqeplugin.exec.LeftOut
import io.aqeplugin.observe.TableStatistics

/** What scans of one kind can leave out when the keys of a join are known before they start. */
private[storage] trait KeyedFormat {

  /** `scan`, reading less: partitions, files, row groups or pages that hold no key are left out. It keeps every row with a key, whatever
    * schema or statistics its files have, and its logical link.
    *
    * @return
    *   none if the scan is of another kind, or cannot use the keys
    */
  def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan]

  /** Why a scan of this kind cannot use such keys; none if it can, is of another kind, or has nothing to say. */
  def whyNothing(scan: SparkPlan, keys: KnownKeys): Option[Reason] = None
}

private[storage] object KeyedFormat {

  /** A copy of a leaf has no tags. Without its logical link, AQE could not tell which logical node the stage above it belongs to; what was left
    * out before stays counted.
    */
  def linked[P <: SparkPlan](scan: SparkPlan, copy: P): P = {
    scan.logicalLink.foreach(copy.setLogicalLink)
    LeftOut.counted(scan, copy)
  }
}
