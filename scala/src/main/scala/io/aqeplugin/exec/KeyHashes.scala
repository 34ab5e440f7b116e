package io.aqeplugin.exec

import java.io.{ByteArrayOutputStream, Serializable}

import org.apache.spark.util.sketch.BloomFilter

import io.aqeplugin.filters.CodeTable

/** The hashes of keys: each while they are few, else Spark's Bloom filter of them. */
private[exec] sealed trait KeyHashes extends Serializable {

  /** The Bloom filter as Spark stores it; none if the keys are too many for one.
    *
    * @param bits
    *   of the filter of so many keys
    */
  def filter(bits: Long => Long): Option[Array[Byte]]

  /** The memory that they take. */
  def sizeBytes: Long
}

private[exec] object KeyHashes {
  final case class Few(hashes: Array[Long]) extends KeyHashes {
    override def filter(bits: Long => Long): Option[Array[Byte]] = {
      val bloom = empty(bits(math.max(1L, hashes.length.toLong)))
      hashes.foreach(bloom.putLong)
      Some(stored(bloom))
    }
    override def sizeBytes: Long = hashes.length.toLong * java.lang.Long.BYTES
  }

  final case class Many(stored: Array[Byte]) extends KeyHashes {
    override def filter(bits: Long => Long): Option[Array[Byte]] = Some(stored)
    override def sizeBytes: Long = stored.length.toLong
  }

  case object TooMany extends KeyHashes {
    override def filter(bits: Long => Long): Option[Array[Byte]] = scala.None
    override def sizeBytes: Long = 0
  }

  val None: KeyHashes = Few(Array.empty)

  /** Keys that a task lists: its table takes two megabytes, which the cache of a core holds. */
  val MostOfTask: Int = 1 << 17

  /** Keys that the driver lists: its table takes 16 MB, the filter of them one. */
  val MostOfDriver: Int = 1 << 20

  /** Bits that each key sets, and that a row with a partner is checked by. Spark's count for the lowest rate of false positives is 7 at ten
    * bits a key; with 4 the rate is 1.2 % in place of 0.8 %, and a key costs little more than half as much where the filter leaves the cache.
    */
  private val HashFunctions = 4

  private val HeaderBytes = 64

  /** Spark derives the count of hash functions from the keys that a filter is made for: ln 2 times the bits for each. */
  private[exec] def empty(bits: Long): BloomFilter = BloomFilter.create(math.max(1L, math.round(bits * math.log(2) / HashFunctions)), bits)

  private[exec] def stored(filter: BloomFilter): Array[Byte] = {
    // A buffer that grows holds a large filter three times.
    val bytes = new ByteArrayOutputStream((filter.bitSize / java.lang.Byte.SIZE).toInt + HeaderBytes)
    filter.writeTo(bytes)
    bytes.toByteArray
  }
}

/** Collects hashes of keys, with repetitions. Mutable; belongs to one thread.
  *
  * @param bits
  *   of the Bloom filter of keys that are not few; none if there is to be none
  * @param most
  *   how many are few
  */
private[exec] final class HashCollector(bits: Option[Long], most: Int) {
  import KeyHashes._

  private val few = new CodeTable(0)
  private var many: Option[BloomFilter] = Option.empty
  private var tooMany = false

  /** Whether no filter will be found, whatever is added. */
  def areTooMany: Boolean = tooMany

  def add(hash: Long): Unit =
    if (many.isDefined) { val _ = many.get.putLong(hash) }
    else if (few.add(hash) && few.size > most) stopListing()

  def add(other: KeyHashes): Unit = other match {
    case _ if tooMany => // No more memory for what is not used.
    case Few(hashes)  =>
      if (many.isEmpty) few.reserve(math.min(most, few.size + hashes.length))
      hashes.foreach(add(_: Long))
    case Many(stored) =>
      if (many.isEmpty) stopListing()
      many.foreach(_.mergeInPlace(BloomFilter.readFrom(stored)))
    case TooMany => tooMany = true
  }

  private def stopListing(): Unit = {
    many = bits.map(empty)
    many.foreach(filter => few.codes.foreach(filter.putLong))
    tooMany ||= many.isEmpty
  }

  def result: KeyHashes = if (tooMany) TooMany else many.fold[KeyHashes](Few(few.codes))(filter => Many(stored(filter)))
}
