package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.KeyHasher

/** The code of a string that is not compared by its bytes. Generated code calls it. */
private[exec] object CollatedCode {

  /** The hash of the key by which Spark joins strings of a collation. */
  def of(text: UTF8String, collation: Int): Long = KeyHasher.hashBinary(CollationFactory.getCollationKeyBytes(text, collation))
}
