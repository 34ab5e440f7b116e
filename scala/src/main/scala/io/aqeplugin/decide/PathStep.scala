package io.aqeplugin.decide

/** Work of the rows between the scans of a probe side and its join. A row that a filter removes in the scan is spared it, except for a
  * [[PathStep.Shared]], which tells of the join's own shuffle, and a [[PathStep.FilterSource]], which tells of rows elsewhere.
  *
  * The operators above the join are none: a row that the filter removes would not have reached them. Nor are the shuffle and the sort of the
  * join itself, which depend on its method.
  */
@Told(doc = "an operator that a row of a probe side goes through before it reaches the join")
sealed abstract class PathStep extends Product {

  /** Estimated rows that go into the operator. */
  def rows: Long

  /** The same operator with other rows. */
  final def withRows(rows: Long): PathStep = this match {
    case step: PathStep.Shuffle      => step.copy(rows = rows)
    case step: PathStep.Sort         => step.copy(rows = rows)
    case step: PathStep.Merge        => step.copy(rows = rows)
    case step: PathStep.Lookup       => step.copy(rows = rows)
    case step: PathStep.Broadcast    => step.copy(rows = rows)
    case step: PathStep.Group        => step.copy(rows = rows)
    case step: PathStep.Shared       => step.copy(rows = rows)
    case step: PathStep.FilterSource => step.copy(rows = rows)
  }
}

object PathStep {
  private[decide] final val Rows = "estimated rows that go into it"
  private[decide] final val RowBytes = "bytes of one row in memory"
  private[decide] final val ScanBytes = "estimated bytes that the scans read"

  final case class Shuffle(
      @Told(doc = Rows, unit = "rows") rows: Long,
      @Told(doc = RowBytes, unit = "bytes") rowBytes: Long
  ) extends PathStep

  final case class Sort(
      @Told(doc = Rows, unit = "rows") rows: Long,
      @Told(doc = "number of partitions, each sorted by itself", unit = "partitions") partitions: Int,
      @Told(doc = "rows are compared, as it sorts by several columns or by none that is a number", optional = true) byRow: Boolean = false
  ) extends PathStep

  /** One side of a sort-merge join. */
  final case class Merge(@Told(doc = Rows, unit = "rows") rows: Long) extends PathStep

  /** The probe side of a hash join. A lookup by row costs more than that of a number. */
  final case class Lookup(
      @Told(doc = Rows, unit = "rows") rows: Long,
      @Told(
        doc =
          "estimated rows of one hash table, in which keys lie at random; 0 if they lie densely, as those of a broadcast by one integer do",
        unit = "rows"
      ) tableRows: Long,
      @Told(doc = "bytes of one row of the hash table in memory", unit = "bytes") tableRowBytes: Long,
      @Told(
        doc =
          "its key is a row, as it has several columns or is no integer, or a condition is checked for every match; false in old logs",
        optional = true
      ) byRow: Boolean = false
  ) extends PathStep

  /** The build side of a broadcast join. */
  final case class Broadcast(
      @Told(doc = Rows, unit = "rows") rows: Long,
      @Told(doc = RowBytes, unit = "bytes") rowBytes: Long,
      @Told(doc = "estimated rows that are looked up at random in its table; 0 if its keys lie densely", unit = "rows") probeRows: Long
  ) extends PathStep

  /** An aggregate with groups, or the build side of a shuffled hash join: each row goes into a hash table of its task. */
  final case class Group(@Told(doc = Rows, unit = "rows") rows: Long) extends PathStep

  /** The join's own shuffle, if Spark runs it once for several uses. A join that does without it reads what is below it by itself. */
  final case class Shared(
      @Told(doc = Rows, unit = "rows") rows: Long,
      @Told(doc = ScanBytes, unit = "bytes") scanBytes: Long,
      @Told(
        doc = "the part of the shuffle that is spared if this join does without: equal parts for all uses, 0 if another use needs it " +
          "anyway, 1 if the others do without"
      ) share: Double
  ) extends PathStep

  /** The build side of a join below, whose finished stage filters the other side of that join: the fewer of its rows are left, the fewer rows
    * pass there.
    */
  final case class FilterSource(
      @Told(doc = Rows, unit = "rows") rows: Long,
      @Told(doc = "keys that the scans have which it filters: of `keys`, `rows` pass", unit = "keys") keys: Long,
      @Told(doc = "estimated rows of the scans that it filters", unit = "rows") probeRows: Long,
      @Told(doc = RowBytes, unit = "bytes") rowBytes: Long
  ) extends PathStep
}
