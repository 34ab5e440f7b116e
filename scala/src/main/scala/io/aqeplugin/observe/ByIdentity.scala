package io.aqeplugin.observe

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** Maps by identity: comparing plans, or hashing them, walks all of them. For one thread. */
private[aqeplugin] object ByIdentity {
  def empty[K <: AnyRef, V]: mutable.Map[K, V] = new IdentityHashMap[K, V]().asScala

  def of[K <: AnyRef, V](pairs: Iterable[(K, V)]): mutable.Map[K, V] = empty[K, V].addAll(pairs)

  /** Each key with its values, in their order. */
  def grouped[K <: AnyRef, V](pairs: Iterable[(K, V)]): mutable.Map[K, Seq[V]] = {
    val found = empty[K, Seq[V]]
    pairs.foreach { case (key, value) => found.update(key, found.getOrElse(key, Vector.empty) :+ value) }
    found
  }
}

/** An object, compared by identity. */
private[aqeplugin] final class Same private (private val of: AnyRef) {
  override def equals(other: Any): Boolean = other match {
    case same: Same => same.of eq of
    case _          => false
  }
  override def hashCode: Int = System.identityHashCode(of)
}

private[aqeplugin] object Same {
  def apply(of: AnyRef): Same = new Same(of)
}
