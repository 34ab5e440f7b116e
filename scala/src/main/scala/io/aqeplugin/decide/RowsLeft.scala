package io.aqeplugin.decide

/** What the filters of one join left of the rows of all scans that they reached.
  *
  * @param scanned
  *   the rows that these scans would have given without any filter: as expected, or as read if that is more
  * @param share
  *   the part of them that is left if the rows that all filters of the scans removed are shared out between their joins
  */
final case class RowsLeft(scanned: Long, share: Double)

object RowsLeft {

  /** The filters of one scan; the rows that came to them all, and those that are left. */
  final case class Scan(read: Long, left: Long, filters: Seq[Passed])

  /** Rows that came to one filter, and those that it let pass.
    *
    * @param joinIds
    *   the joins whose keys it holds; several for a union
    */
  final case class Passed(joinIds: Seq[String], reached: Long, passed: Long) {
    private[RowsLeft] def weight: Double = -math.log((passed.toDouble / reached).max(LeastShare).min(1.0))
  }

  // A filter that removes every row has no logarithm.
  private val LeastShare = 1e-6

  /** What is left to each join whose filters checked a row.
    *
    * Filters of one scan see what those before them left. The rows that they removed together are shared out by the logarithms of the shares that passed, so that no row counts twice and no order counts, and equally between the joins of a union.
    *
    * @param expected
    *   the rows that the scans of a join were expected to give without filters; those that were not read have been left out with their files
    */
  def byJoin(scans: Seq[Scan], expected: String => Long): Map[String, RowsLeft] =
    scans.flatMap(parts).groupMap(_._1)(_._2).map { case (joinId, ofJoin) =>
      val read = ofJoin.map(_.read).sum
      val unread = math.max(0L, expected(joinId) - read)
      val removed = ofJoin.map(part => part.share * (part.removed + unread.toDouble * part.read / read)).sum
      joinId -> RowsLeft(read + unread, (1 - removed / (read + unread)).max(0.0).min(1.0))
    }

  /** A join's `share` of what the filters of one scan did together. */
  private final case class Part(read: Long, removed: Long, share: Double)

  private def parts(scan: Scan): Seq[(String, Part)] = {
    val met = scan.filters.filter(_.reached > 0)
    val weights = met.map(_.weight).sum
    for {
      filter <- met if scan.read > 0
      joinIds = filter.joinIds.distinct
      share = if (weights > 0) filter.weight / weights else 1.0 / met.size
      joinId <- joinIds
    } yield joinId -> Part(scan.read, math.max(0L, scan.read - scan.left), share / joinIds.size)
  }
}
