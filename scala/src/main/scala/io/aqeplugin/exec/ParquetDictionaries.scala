package io.aqeplugin.exec

import java.lang.reflect.Field

import scala.util.Try

import org.apache.parquet.column.Dictionary
import org.apache.spark.sql.execution.datasources.parquet.ParquetDictionary
import org.apache.spark.sql.execution.vectorized.WritableColumnVector

/** The dictionary of a column of a Parquet file while it is not decoded. Spark wraps it anew for every batch and has no getter for it, so
  * its fields are read; where they have other names, there is no dictionary.
  */
private[exec] object ParquetDictionaries {

  private val ofVector: Option[Field] = readable(classOf[WritableColumnVector], "dictionary")
  private val wrapped: Option[Field] = readable(classOf[ParquetDictionary], "dictionary")

  private def readable(of: Class[_], name: String): Option[Field] = Try {
    val field = of.getDeclaredField(name)
    field.setAccessible(true)
    field
  }.toOption

  /** The dictionary that the ids of `vector` are of; the same object for all batches of a row group. */
  def of(vector: WritableColumnVector): Option[Dictionary] = for {
    holder <- ofVector if vector.hasDictionary
    inner <- wrapped
    dictionary <- holder.get(vector) match {
      case parquet: ParquetDictionary => Option(inner.get(parquet))
      case _                          => None
    }
    known <- dictionary match {
      case ofFile: Dictionary => Some(ofFile)
      case _                  => None
    }
  } yield known
}
