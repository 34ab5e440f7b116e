package io.aqeplugin.infer

import scala.collection.mutable

import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Union}
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_MILLIS
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._

import io.aqeplugin.observe.RowCheck
import io.aqeplugin.storage.{ParquetKeys, SourceLiterals}

/** The columns of a plan for which a source leaves out exactly the rows that Spark would.
  *
  * Spark gives the predicates of a query to its sources, and not every source compares as Spark does: ORC fails where a file's column has
  * another type than the table's, a database has its own collations, Parquet compares the integers of a file that Spark cuts to bytes, and
  * columns that are read by their field ids by other columns' names. A metastore compares partition values in the order of its database, and may
  * refuse a condition, which fails the query. That is the query author's choice; a predicate that the author
  * did not write must not change an answer.
  */
private[infer] final class TrustedColumns private (untrusted: Set[ExprId], prunedAsNull: Set[ExprId]) {

  /** Whether a condition may be added. Of a Hive table that is read by a SerDe, rows without a value in a partition column of texts have the name of
    * the default partition there. A condition on the column makes Spark leave out that partition, as if they had null. As a rule, Spark does so by
    * itself, because a comparison needs a value.
    */
  def allows(condition: Expression, equal: EqualColumns): Boolean = !reached(condition, equal).exists(column => prunedAsNull(column.exprId))

  private def reached(condition: Expression, equal: EqualColumns): Seq[Attribute] = {
    val columns = condition.references.toSeq
    columns ++ columns.flatMap(equal.of)
  }

  /** The condition, each part of which is a [[RowCheck]] unless every source that it may reach can be trusted with it. Spark itself carries
    * conditions to columns that are equal, and finds the parts that concern partitions alone.
    */
  def checked(condition: Expression, equal: EqualColumns): Expression = condition match {
    case And(left, right) => And(checked(left, equal), checked(right, equal))
    case Or(left, right)  => Or(checked(left, equal), checked(right, equal))
    case part             =>
      if (!reached(part, equal).exists(column => untrusted(column.exprId)) && !part.exists(isUntrusted)) part else RowCheck(part)
  }

  private def isUntrusted(expression: Expression): Boolean = expression match {
    case literal: Literal    => !isTrustedValue(literal)
    case InSet(value, among) => among.flatMap(Option(_)).exists(one => !isTrustedValue(Literal(one, value.dataType)))
    case _                   => false
  }

  /** Parquet cuts a bound to the milliseconds of files that have them, and `<` then leaves out rows that are less. */
  private def isTrustedValue(literal: Literal): Boolean = SourceLiterals.isKept(literal) && (literal match {
    case Literal(micros: Long, TimestampType | TimestampNTZType) => micros % MICROS_PER_MILLIS == 0
    case _                                                       => true
  })
}

private[infer] object TrustedColumns {

  def of(plan: LogicalPlan): TrustedColumns = new TrustedColumns(
    reading(plan)(untrustedOf),
    if (plan.conf.constraintPropagationEnabled) Set.empty else reading(plan)(prunedAsNull)
  )

  /** Columns of leaves, and those above that are computed from one of them. */
  private def reading(plan: LogicalPlan)(columnsOf: LeafNode => Seq[Attribute]): Set[ExprId] = {
    val found = mutable.HashSet.empty[ExprId]
    plan.foreachUp {
      case leaf: LeafNode => found ++= columnsOf(leaf).map(_.exprId)
      case union: Union   => union.children.foreach { child =>
          union.output.lazyZip(child.output).foreach((above, below) => if (found(below.exprId)) found += above.exprId)
        }
      case other => other.expressions.foreach(_.foreach {
          case alias: Alias if alias.child.references.exists(column => found(column.exprId)) => found += alias.exprId
          case _                                                                             =>
        })
    }
    found.toSet
  }

  private def prunedAsNull(leaf: LeafNode): Seq[Attribute] = leaf match {
    case hive: HiveTableRelation => hive.partitionCols.filter(_.dataType.isInstanceOf[StringType])
    case _                       => Nil
  }

  private def untrustedOf(leaf: LeafNode): Seq[Attribute] =
    leaf match {
      case relation: LogicalRelation =>
        relation.relation match {
          case files: HadoopFsRelation => ofFiles(relation, files)
          case _                       => relation.output
        }
      case relation: DataSourceV2Relation if relation.table.getClass.getName == IcebergTable =>
        relation.output.filterNot(isTrustedInIceberg)
      case relation: DataSourceV2Relation => relation.output
      // The bounds of a cached batch leave NaN out, which is greater than every number.
      case cached: InMemoryRelation => cached.output.filter(column => column.dataType == DoubleType || column.dataType == FloatType)
      case hive: HiveTableRelation  => hive.partitionCols
      // What Spark makes itself, it also compares itself.
      case _ => Nil
    }

  private def ofFiles(relation: LogicalRelation, files: HadoopFsRelation): Seq[Attribute] = {
    val partitions = files.partitionSchema.map(_.name)
    val isDelta = files.fileFormat.getClass.getName == DeltaFormat
    def isPartition(column: Attribute): Boolean = partitions.exists(relation.conf.resolver(_, column.name))
    val isReadById = relation.conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(files.dataSchema)
    val isTrusted = isTrustedFormat(files) && !ParquetKeys.skipsDamage(files) && !isReadById
    def isTrustedColumn(column: Attribute): Boolean = if (isDelta) isTrustedInLog(column) else isTrustedType(column)
    relation.output.filterNot { column =>
      if (isPartition(column)) !files.location.isInstanceOf[CatalogFileIndex] else isTrusted && isTrustedColumn(column)
    }
  }

  /** The formats that Spark reads as Parquet. Others are known by name: the plugin does not depend on them. */
  private def isTrustedFormat(files: HadoopFsRelation): Boolean =
    files.fileFormat.getClass == classOf[ParquetFileFormat] || files.fileFormat.getClass.getName == DeltaFormat

  private val DeltaFormat = "org.apache.spark.sql.delta.DeltaParquetFileFormat"
  private val IcebergTable = "org.apache.iceberg.spark.source.SparkTable"

  /** The statistics of texts that a table keeps beside its files are not in Spark's order: bytes that are not UTF-8 are replaced, and some writers
    * end a cut maximum with a character that is not the greatest.
    */
  private def isTrustedInLog(column: Attribute): Boolean = isTrustedType(column) && !column.dataType.isInstanceOf[StringType]

  /** Of imported files, Iceberg takes milliseconds for microseconds. */
  private def isTrustedInIceberg(column: Attribute): Boolean =
    isTrustedInLog(column) && column.dataType != TimestampType && column.dataType != TimestampNTZType

  /** Bytes and shorts may be cut from the integers of a file, the precision of decimals is ignored, and -0.0 is less than 0.0. */
  private def isTrustedType(column: Attribute): Boolean = column.dataType match {
    case BooleanType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType | BinaryType | _: StringType => true
    case _                                                                                                               => false
  }
}
