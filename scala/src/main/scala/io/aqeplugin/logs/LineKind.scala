package io.aqeplugin.logs

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** A kind of requested line: the lines of one event, which Spark writes as the first member.
  *
  * @param name
  *   the name of the kind in the result
  * @param event
  *   the event's class, as written in the line
  * @param members
  *   the members to keep; empty for all
  */
final private[logs] case class LineKind(name: String, event: String, members: Set[String]) {

  private val start: Array[Byte] = s"""{"Event":"$event"""".getBytes(UTF_8)

  def startBytes: Int = start.length

  def begins(bytes: Array[Byte], from: Int, until: Int): Boolean =
    until - from >= start.length && Arrays.equals(bytes, from, from + start.length, start, 0, start.length)
}
