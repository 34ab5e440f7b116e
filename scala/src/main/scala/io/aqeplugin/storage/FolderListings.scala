package io.aqeplugin.storage

import java.util.concurrent.CompletableFuture

/** The folders of partitioned tables, each listed once for all scans of its table, whatever partitions these select.
  *
  * A listing serves all who ask while it goes on and for a minute after, in which new partitions do not show. One that failed serves nobody
  * else.
  *
  * @param nowNanos
  *   as `System.nanoTime`
  */
private[storage] final class FolderListings(mostTables: Int, nowNanos: () => Long) {
  import FolderListings._

  private val latest = LruMap.of[PartitionedTable, Listing](mostTables)

  /** The latest listing, or else one that `begin` begins now. */
  def of(table: PartitionedTable)(begin: => CompletableFuture[Option[FolderSample]]): CompletableFuture[Option[FolderSample]] =
    latest.compute(
      table,
      (_, earlier) =>
        Option(earlier).filter(isFresh).getOrElse {
          val found = begin
          Listing(found, found.thenApply(_ => nowNanos()))
        }
    ).found

  private def isFresh(listing: Listing): Boolean = !listing.endNanos.isDone ||
    !listing.endNanos.isCompletedExceptionally && nowNanos() - listing.endNanos.join() <= KeptNanos
}

private[storage] object FolderListings {
  final val KeptNanos = 60000000000L

  private final case class Listing(found: CompletableFuture[Option[FolderSample]], endNanos: CompletableFuture[Long])
}
