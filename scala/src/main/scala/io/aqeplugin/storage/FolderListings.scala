package io.aqeplugin.storage

import java.util.concurrent.{CompletableFuture, TimeoutException}

/** The folders of partitioned tables, each listed once for all scans of its table, whatever partitions these select.
  *
  * A listing serves all who ask for a minute after it has begun, in which it may go on, and for a minute after it has ended, in which new
  * partitions do not show. One that goes on for longer makes others fail at once, so that a storage that hangs holds one thread. One that
  * failed serves nobody else. A user's listing serves no other user, who may be allowed less.
  *
  * @param nowNanos
  *   as `System.nanoTime`
  */
private[storage] final class FolderListings(mostTables: Int, nowNanos: () => Long) {
  import FolderListings._

  private val latest = LruMap.of[(PartitionedTable, String), Listing](mostTables)

  /** The latest listing, or else one that `begin` begins now. */
  def of(table: PartitionedTable, user: String)(
      begin: => CompletableFuture[Option[FolderSample]]
  ): CompletableFuture[Option[FolderSample]] = {
    val listing = latest.compute((table, user), (_, earlier) => Option(earlier).filter(isLatest).getOrElse(begun(begin)))
    if (listing.endNanos.isDone || !isOver(listing.beginNanos)) listing.found
    else CompletableFuture.failedFuture(new TimeoutException(s"${table.folder} has been listed for more than a minute"))
  }

  private def begun(found: CompletableFuture[Option[FolderSample]]): Listing = Listing(found, nowNanos(), found.thenApply(_ => nowNanos()))

  private def isLatest(listing: Listing): Boolean = !listing.endNanos.isDone ||
    !listing.endNanos.isCompletedExceptionally && !isOver(listing.endNanos.join())

  private def isOver(sinceNanos: Long): Boolean = nowNanos() - sinceNanos > KeptNanos
}

private[storage] object FolderListings {
  final val KeptNanos = 60000000000L

  private final case class Listing(found: CompletableFuture[Option[FolderSample]], beginNanos: Long, endNanos: CompletableFuture[Long])
}
