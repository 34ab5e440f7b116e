package io.aqeplugin.decide

/** Work of the rows between the scans of a probe side and its join. A row that a filter removes in the scan is spared it, except for a
  * [[PathStep.Shared]], which tells of the join's own shuffle, and a [[PathStep.FilterSource]], which tells of rows elsewhere.
  *
  * The operators above the join are none: a row that the filter removes would not have reached them. Nor are the shuffle and the sort of the
  * join itself, which depend on its method.
  */
sealed abstract class PathStep(val name: String) {

  /** Estimated rows that go into the operator. */
  def rows: Long

  /** The same operator with other rows. */
  def withRows(rows: Long): PathStep
}

object PathStep {

  /** @param rowBytes
    *   bytes of one row in memory
    */
  final case class Shuffle(rows: Long, rowBytes: Long) extends PathStep(ShuffleName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** @param partitions
    *   number of partitions, each of which is sorted by itself
    */
  final case class Sort(rows: Long, partitions: Int) extends PathStep(SortName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** One side of a sort-merge join. */
  final case class Merge(rows: Long) extends PathStep(MergeName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** The probe side of a hash join.
    *
    * @param tableRows
    *   estimated rows of one hash table, in which keys lie at random; 0 if they lie densely, as those of a broadcast by one integer column do
    * @param tableRowBytes
    *   bytes of one of them in memory
    * @param byRow
    *   the key is a row of its own, as it has several columns or is no integer, or a condition is checked for every match; such a lookup
    *   costs more than that of a number
    */
  final case class Lookup(rows: Long, tableRows: Long, tableRowBytes: Long, byRow: Boolean = false) extends PathStep(LookupName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** The build side of a broadcast join.
    *
    * @param rowBytes
    *   bytes of one of its rows in memory
    * @param probeRows
    *   estimated rows that are looked up at random in the table of the rows; 0 if its keys lie densely
    */
  final case class Broadcast(rows: Long, rowBytes: Long, probeRows: Long) extends PathStep(BroadcastName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** An aggregate with groups, or the build side of a shuffled hash join: each row goes into a hash table of its task. */
  final case class Group(rows: Long) extends PathStep(GroupName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** The join's own shuffle, if Spark runs it once for several uses. A join that does without it reads what is below it by itself.
    *
    * @param rows
    *   estimated rows that its stage reads
    * @param scanBytes
    *   estimated bytes that the scans of its stage read
    * @param share
    *   the part of the shuffle that is spared if this join does without it: equal parts for all uses, but 0 if one of them needs it whatever
    *   this join does, and 1 if the others do without it
    */
  final case class Shared(rows: Long, scanBytes: Long, share: Double) extends PathStep(SharedName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** The build side of a join below, whose finished stage filters the other side of that join: the fewer of its rows are left, the fewer rows
    * pass there.
    *
    * @param rows
    *   estimated rows of the build side
    * @param keys
    *   number of keys that the other side has: of `rows` keys, `rows / keys` of its rows pass
    * @param probeRows
    *   estimated rows of the scans that are filtered there
    * @param rowBytes
    *   bytes of one of these in memory
    */
  final case class FilterSource(rows: Long, keys: Long, probeRows: Long, rowBytes: Long) extends PathStep(FilterSourceName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  val ShuffleName = "shuffle"
  val SortName = "sort"
  val MergeName = "merge"
  val LookupName = "lookup"
  val BroadcastName = "broadcast"
  val GroupName = "group"
  val SharedName = "shared"
  val FilterSourceName = "filter_source"

  val Names: Seq[String] =
    Seq(ShuffleName, SortName, MergeName, LookupName, BroadcastName, GroupName, SharedName, FilterSourceName)
}
