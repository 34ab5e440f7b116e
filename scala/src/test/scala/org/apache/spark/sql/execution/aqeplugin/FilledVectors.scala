package org.apache.spark.sql.execution.aqeplugin

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.RowToColumnConverter
import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.types.StructType

object FilledVectors {

  /** Appends the rows to the columns, as Spark does where rows become batches. */
  def fill(schema: StructType, rows: Seq[InternalRow], vectors: Seq[WritableColumnVector]): Unit = {
    val converter = new RowToColumnConverter(schema)
    rows.foreach(converter.convert(_, vectors.toArray))
  }
}
