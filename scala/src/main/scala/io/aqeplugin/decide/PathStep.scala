package io.aqeplugin.decide

/** One operator between the scans of a probe side and its join. A row that a filter removes in the scan is spared it.
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
    */
  final case class Lookup(rows: Long, tableRows: Long, tableRowBytes: Long) extends PathStep(LookupName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  /** An aggregate with groups. */
  final case class Group(rows: Long) extends PathStep(GroupName) {
    def withRows(rows: Long): PathStep = copy(rows = rows)
  }

  val ShuffleName = "shuffle"
  val SortName = "sort"
  val MergeName = "merge"
  val LookupName = "lookup"
  val GroupName = "group"

  val Names: Seq[String] = Seq(ShuffleName, SortName, MergeName, LookupName, GroupName)
}
