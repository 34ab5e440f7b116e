package io.aqeplugin.storage

import java.lang.reflect.Constructor
import java.util.{Collection => JavaCollection, List => JavaList, Map => JavaMap}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.read.Scan

import io.aqeplugin.decide.ReasonCode

/** What one scan of an Iceberg table reads, and how another one reads less of the same snapshot. The scan itself never changes: a command that writes
  * takes from it what it has read, and other places of the query may read it too.
  *
  * @param table
  *   Iceberg's own table
  * @param planned
  *   Iceberg's own scan, whose tasks are those of `scan` before run-time filters
  */
private[storage] final class IcebergRead private (
    scan: Scan,
    made: Constructor[_ <: Scan],
    table: AnyRef,
    planned: AnyRef,
    snapshot: AnyRef
) {
  import IcebergMembers._

  private val contentOf = interface(table, "ContentScanTask").getMethod("file")
  private val sizeOf = interface(table, "ContentFile").getMethod("fileSizeInBytes")
  private val locationOf = interface(table, "ContentFile").getMethod("location")

  /** Where the data file of a task is. */
  def fileOf(task: AnyRef): String = locationOf.invoke(contentOf.invoke(task)).toString

  /** The data files that are read, with their bytes; planned already. */
  def files: Map[String, Long] = tasks.map(task => fileOf(task) -> bytesOf(task)).toMap

  def fileCount: Long = tasks.size.toLong

  private def tasks: Seq[AnyRef] = IcebergRead.objects(withinPackage(scan, "tasks"))

  private def bytesOf(task: AnyRef): Long = sizeOf.invoke(contentOf.invoke(task)) match {
    case bytes: java.lang.Long => bytes
    case _                     => 0L
  }

  /** Whether the snapshot says that it has none. */
  def hasNoEqualityDeletes: Boolean = publicly(snapshot, "Snapshot", "summary") match {
    case summary: JavaMap[_, _] => Option(summary.get("total-equality-deletes")).map(_.toString).contains("0")
    case _                      => false
  }

  /** What rows are read by, as text. */
  def conditions: String = withinPackage(scan, "filtersDesc").toString

  /** The field that the scan reads as a column. */
  def field(column: String): Option[AnyRef] = IcebergColumns.meant(withinPackage(scan, "schema"), column)

  /** Whether the name of a field leads to it in each schema that Iceberg may look it up in. A column may have been renamed since the snapshot, and
    * another one have got its name.
    */
  def isNamedAlike(field: AnyRef): Boolean =
    Seq(publicly(table, "Table", "schema"), written)
      .forall(IcebergColumns.meant(_, IcebergColumns.nameOf(field)).map(IcebergColumns.idOf).contains(IcebergColumns.idOf(field)))

  /** A type of the field, for conditions that partitions are chosen by. */
  def asOfPartitions(field: AnyRef, kind: IcebergWholes): IcebergWholes = {
    val overflows = transforms(field).flatten.exists(name => name.startsWith("truncate") || name == "hour")
    if (overflows) kind.overflowing else kind
  }

  /** Whether each partition has one value of a column, in every way that the table was ever partitioned by. */
  def isPartitionedBy(column: String): Boolean =
    Try(field(column).map(transforms).exists(specs => specs.nonEmpty && specs.forall(_.contains("identity")))).getOrElse(false)

  /** Of each spec of the table, the transforms of a field by which it partitions. */
  private def transforms(field: AnyRef): Seq[Seq[String]] = publicly(table, "Table", "specs") match {
    case known: JavaMap[_, _] => known.values.asScala.toSeq.collect { case spec: AnyRef =>
        IcebergRead.objects(IcebergMembers.of(spec, "fields")).filter(IcebergMembers.of(_, "sourceId") == IcebergColumns.idOf(field))
          .map(IcebergMembers.of(_, "transform").toString)
      }
    case _ => Nil
  }

  /** The schema of the snapshot. */
  private def written: AnyRef = {
    val known = (publicly(snapshot, "Snapshot", "schemaId"), publicly(table, "Table", "schemas")) match {
      case (id: Integer, schemas: JavaMap[_, _]) => Option(schemas.get(id)).collect { case schema: AnyRef => schema }
      case _                                     => None
    }
    known.getOrElse(publicly(table, "Table", "schema"))
  }

  /** Plans the files again, with Iceberg's statistics of a column; its own scan, and the tasks that pass a test.
    *
    * @param condition
    *   leaves out manifests, files and row groups too
    * @return
    *   none if the table has forgotten the snapshot, or renamed the column
    */
  def again(field: AnyRef, condition: Option[AnyRef])(test: AnyRef => Boolean): Option[(AnyRef, Vector[AnyRef])] = {
    val scans = interface(table, "Scan")
    // Of variants, Spark's reader asks whether there are statistics.
    val counted = IcebergColumns.of(withinPackage(scan, "projection")).filter(IcebergColumns.typeOf(_) == "variant") :+ field
    val ids = counted.map(IcebergColumns.idOf).toSet
    val names: JavaCollection[String] =
      IcebergColumns.of(written).filter(one => ids(IcebergColumns.idOf(one))).map(IcebergColumns.nameOf).asJava
    val withStatistics = scans.getMethod("includeColumnStats", classOf[JavaCollection[_]]).invoke(planned, names)
    val narrowed =
      condition.fold(withStatistics)(scans.getMethod("filter", interface(table, "expressions.Expression")).invoke(withStatistics, _))
    val found = Vector.newBuilder[AnyRef]
    eachTask(narrowed)(task => if (test(task)) found += task)
    // Iceberg takes a snapshot that has expired for an empty table.
    val isSame = Option(publicly(narrowed, "BatchScan", "snapshot")).contains(snapshot)
    Option.when(isSame && (condition.isEmpty || isNamedAlike(field)))((narrowed, found.result()))
  }

  /** A new scan that reads some of the tasks of another planning.
    *
    * @param told
    *   a condition that the wanted rows fulfil. Scans are equal if their conditions are
    */
  def reading(by: AnyRef, tasks: Seq[AnyRef], told: AnyRef): Scan = {
    val conditions = IcebergRead.objects(withinPackage(scan, "filters")) :+ told
    made.setAccessible(true)
    val copy = made.newInstance(
      privately(scan, "spark"),
      table,
      withinPackage(scan, "schema"),
      snapshot,
      privately(scan, "branch"),
      by,
      privately(scan, "readConf"),
      withinPackage(scan, "projection"),
      conditions.asJava,
      privately(scan, "scanReportSupplier")
    )
    val _ = withinPackage(copy, "resetTasks", tasks.asJava)
    copy
  }

  def testOf(field: AnyRef): IcebergKeyTest = new IcebergKeyTest(table, IcebergColumns.idOf(field))
  def conditionsOn(field: AnyRef): IcebergConditions = new IcebergConditions(table, IcebergColumns.nameOf(field))
}

private[storage] object IcebergRead {
  import IcebergMembers._

  private val QueryScan = Package + "spark.source.SparkBatchQueryScan"

  private val CopyOnWriteScan = Package + "spark.source.SparkCopyOnWriteScan"

  private val Parameters =
    Seq("SparkSession", "Table", "Schema", "Snapshot", "String", "Scan", "SparkReadConf", "Schema", "List", "Supplier")

  /** None for a scan of another kind, such as one that a command rewrites whole files by, one of a metadata table, or one without rows; and for a scan
    * whose partitions are those of the table, on which a join without a shuffle may rely.
    */
  def of(scan: Scan): Option[IcebergRead] =
    if (scan.getClass.getName != QueryScan) None
    else
      Try {
        val table = withinPackage(scan, "table")
        for {
          planned <- Option(withinPackage(scan, "scan"))
          snapshot <- Option(privately(scan, "snapshot"))
          if interface(table, "BaseTable").isInstance(table) && !isGrouped(scan)
          made <- constructorsOf(scan.getClass).find(_.getParameterTypes.map(_.getSimpleName).toSeq == Parameters)
        } yield new IcebergRead(scan, made, table, planned, snapshot)
      }.toOption.flatten

  /** Why a scan reads the files that it was planned with, if others depend on them. */
  def whyWhole(scan: Scan): Option[ReasonCode] = scan.getClass.getName match {
    case CopyOnWriteScan                                    => Some(ReasonCode.RewritesFiles)
    case QueryScan if Try(isGrouped(scan)).getOrElse(false) => Some(ReasonCode.KeepsPartitions)
    case _                                                  => None
  }

  private def isGrouped(scan: Scan): Boolean = objects(IcebergMembers.of(withinPackage(scan, "groupingKeyType"), "fields")).nonEmpty

  /** Java declares them as constructors of any class. */
  private def constructorsOf[S <: Scan](of: Class[S]): Seq[Constructor[S]] =
    of.getDeclaredConstructors.toSeq.map(one => of.getDeclaredConstructor(one.getParameterTypes: _*))

  private def objects(list: AnyRef): Seq[AnyRef] = list match {
    case found: JavaList[_] => found.asScala.toSeq.collect { case one: AnyRef => one }
    case _                  => Nil
  }
}

/** Iceberg's own conditions on a column. */
private[storage] final class IcebergConditions(table: AnyRef, column: String) {
  private val expressions = IcebergMembers.interface(table, "expressions.Expressions")
  private val expression = IcebergMembers.interface(table, "expressions.Expression")

  def isIn(values: Seq[AnyRef]): AnyRef =
    expressions.getMethod("in", classOf[String], classOf[java.lang.Iterable[_]]).invoke(None.orNull, column, values.asJava)

  def isAtLeast(value: AnyRef): AnyRef = compared("greaterThanOrEqual", value)
  def isAtMost(value: AnyRef): AnyRef = compared("lessThanOrEqual", value)

  /** Holds for every value; different for different tokens. */
  def isThere(token: AnyRef): AnyRef =
    or(expressions.getMethod("notNull", classOf[String]).invoke(None.orNull, column), compared("equal", token))

  def and(left: AnyRef, right: AnyRef): AnyRef = expressions.getMethod("and", expression, expression).invoke(None.orNull, left, right)
  def or(left: AnyRef, right: AnyRef): AnyRef = expressions.getMethod("or", expression, expression).invoke(None.orNull, left, right)

  private def compared(method: String, value: AnyRef): AnyRef =
    expressions.getMethod(method, classOf[String], classOf[Object]).invoke(None.orNull, column, value)
}
