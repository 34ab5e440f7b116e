package io.aqeplugin.storage

import java.util.{Collections, LinkedHashMap, Map => JavaMap}

private[storage] object LruMap {

  /** A map for all threads that drops the entry that was not used for the longest time when there are more than `most`. */
  def of[K, V](most: Int): JavaMap[K, V] = Collections.synchronizedMap(new LinkedHashMap[K, V](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[K, V]): Boolean = size > most
  })
}
