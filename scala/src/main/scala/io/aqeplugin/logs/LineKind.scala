package io.aqeplugin.logs

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** Lines that are wanted: those of one event, which Spark writes as the first member.
  *
  * @param name
  *   what the line is handed out as
  * @param event
  *   the event's class, as it stands in the line
  * @param members
  *   of the event that are kept; all of them if there are none
  */
final private[logs] case class LineKind(name: String, event: String, members: Set[String]) {

  private val start: Array[Byte] = s"""{"Event":"$event"""".getBytes(UTF_8)

  def startBytes: Int = start.length

  def begins(bytes: Array[Byte], from: Int, until: Int): Boolean =
    until - from >= start.length && Arrays.equals(bytes, from, from + start.length, start, 0, start.length)
}
