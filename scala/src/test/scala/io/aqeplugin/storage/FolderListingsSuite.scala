package io.aqeplugin.storage

import java.io.IOException
import java.util.concurrent.{CompletableFuture, TimeoutException}

import scala.collection.mutable.ArrayBuffer

import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

/** Whose listing of a table's folders serves whom. */
class FolderListingsSuite extends AnyFunSuite {
  private type Listing = CompletableFuture[Option[FolderSample]]

  private val table = PartitionedTable(new Path("/sales"), columns = 1)
  private val sample = Some(FolderSample(7L, Nil))

  private final class Folders {
    val begun: ArrayBuffer[Listing] = ArrayBuffer.empty
    var nowSeconds: Long = 0L
    private val listings = new FolderListings(mostTables = 2, () => nowSeconds * 1000000000L)
    def ask(atSecond: Long, of: PartitionedTable = table, user: String = "ann"): Listing = {
      nowSeconds = atSecond
      listings.of(of, user) {
        begun += new Listing
        begun.last
      }
    }
  }

  private def error(listing: Listing): Throwable =
    if (listing.isCompletedExceptionally) listing.handle[Throwable]((_, error) => error).join() else fail("it has not failed")

  test("a listing serves while it goes on and for a minute after") {
    val folders = new Folders
    assert(folders.ask(0) eq folders.ask(50))
    folders.begun.head.complete(sample)
    assert(folders.ask(110) eq folders.begun.head)
    val _ = folders.ask(111)
    assert(folders.begun.size == 2)
  }

  test("a listing that hangs holds one thread, and those who ask after a minute fail at once") {
    val folders = new Folders
    val first = folders.ask(0)
    assert(error(folders.ask(61)).isInstanceOf[TimeoutException] && error(folders.ask(3600)).isInstanceOf[TimeoutException])
    assert(folders.begun.size == 1 && !first.isDone)
    first.complete(sample)
    assert(folders.ask(3601).join() == sample)
  }

  test("a listing that failed serves nobody else") {
    val folders = new Folders
    folders.ask(0).completeExceptionally(new IOException("no listing"))
    assert(!folders.ask(1).isDone && folders.begun.size == 2)
  }

  test("users and tables have listings of their own") {
    val folders = new Folders
    val ofAnn = folders.ask(0)
    assert(!(folders.ask(0, user = "ben") eq ofAnn))
    assert(!(folders.ask(0, PartitionedTable(new Path("/returns"), columns = 1)) eq ofAnn))
  }
}
