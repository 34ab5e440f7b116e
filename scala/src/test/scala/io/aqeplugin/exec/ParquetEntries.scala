package io.aqeplugin.exec

import org.apache.parquet.column.{Dictionary, Encoding}
import org.apache.parquet.io.api.Binary
import org.apache.spark.sql.execution.datasources.parquet.ParquetDictionary

/** A dictionary of texts that counts how often an entry is decoded. */
private[exec] final class ParquetEntries(texts: IndexedSeq[String]) extends Dictionary(Encoding.PLAIN) {
  var decoded = 0 // read by the tests
  override def getMaxId: Int = texts.size - 1
  override def decodeToBinary(id: Int): Binary = { decoded += 1; Binary.fromString(texts(id)) }

  /** As Spark wraps it, anew for every batch. */
  def forSpark: ParquetDictionary = new ParquetDictionary(this, false)
}
