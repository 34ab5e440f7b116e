package io.aqeplugin.exec

import java.io.ByteArrayInputStream

import scala.util.Random

import org.apache.spark.util.sketch.BloomFilter
import org.scalatest.funsuite.AnyFunSuite

class KeyHashesSuite extends AnyFunSuite {

  private def bits(keys: Long): Long = BloomFilter.optimalNumOfBits(keys, 0.01)

  private val few = hashes(seed = 1, 500)
  private val many = hashes(seed = 2, 200000)

  private def hashes(seed: Long, count: Int): Seq[Long] = {
    val random = new Random(seed)
    Seq.fill(count)(random.nextLong())
  }

  private def collected(keys: Seq[Long], most: Option[Long] = Some(bits(1000000))): KeyHashes = {
    val collector = new HashCollector(most, KeyHashes.MostOfTask)
    keys.foreach(collector.add(_: Long))
    collector.result
  }

  private def merged(bitsOfRows: Option[Long])(parts: KeyHashes*): KeyHashes = {
    val collector = new HashCollector(bitsOfRows, KeyHashes.MostOfDriver)
    parts.foreach(collector.add)
    collector.result
  }

  private def filterOf(keys: KeyHashes): BloomFilter =
    BloomFilter.readFrom(new ByteArrayInputStream(keys.filter(bits).getOrElse(fail("there is no filter"))))

  test("few keys make a filter of their own size, however often each comes") {
    val found = filterOf(collected(Iterator.continually(few).take(100).flatten.toSeq))
    assert(few.forall(found.mightContainLong) && found.bitSize < bits(1000))
  }

  test("of ten bits a key, one strange key in fifty passes at most") {
    val strange = hashes(seed = 3, 100000)
    assert(strange.count(filterOf(collected(few)).mightContainLong) < strange.size / 50)
  }

  for (
    (what, parts) <- Seq(
      "few and few" -> Seq(few.take(300), few.drop(200)),
      "few and many" -> Seq(few, many),
      "many and few" -> Seq(many, few),
      "many and many" -> Seq(many, many.map(_ + 1)),
      "few that become many" -> Seq(many.take(100000), many.drop(100000)),
      "none and few" -> Seq(Nil, few)
    )
  )
    test(s"a filter merged from parts with $what keys has the keys of each") {
      val found = filterOf(merged(Some(bits(1000000)))(parts.map(collected(_)): _*))
      assert(parts.flatten.forall(found.mightContainLong))
    }

  test("many keys without room for a filter make none, whatever is merged with them, and few still make one") {
    val tooMany = collected(many, most = None)
    assert(tooMany.filter(bits).isEmpty && merged(None)(collected(few), tooMany, collected(few)).filter(bits).isEmpty)
    assert(few.forall(filterOf(collected(few, most = None)).mightContainLong))
  }

  test("keys that no task has many of make a filter of their own size, also where there is no room for one of as many keys as rows") {
    val parts = many.grouped(50000).toSeq
    for (bitsOfRows <- Seq(None, Some(bits(7000000)))) {
      val found = filterOf(merged(bitsOfRows)(parts.map(collected(_, bitsOfRows)): _*))
      assert(many.forall(found.mightContainLong) && found.bitSize < bits(210000))
    }
  }
}
