package io.aqeplugin.logs

import java.io.InputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** A line that is wanted, without its end; `offset` is that of its first byte in what was read. */
final private[logs] case class WantedLine(kind: LineKind, offset: Long, bytes: Array[Byte]) {
  def text: String = new String(bytes, UTF_8)
}

/** The wanted lines of a stream, in bounded memory: what it keeps is a wanted line, at most `maxLineBytes` of it, and one read.
  *
  * A line ends with a newline or with the stream. What a line is, its first bytes tell; the others of a line that nobody wants are passed over. A wanted line
  * that is too long is passed over too, after `tooLong` was told its offset.
  *
  * @param in
  *   closed by whoever opened it
  * @param from
  *   offset of the first byte that `in` gives
  * @param until
  *   lines that begin here or later are another's
  * @param inLine
  *   whether the first byte is within a line, which is another's
  * @param readBytes
  *   at a time, more than a kind's beginning
  */
final private[logs] class LineScanner(
    in: InputStream,
    kinds: Seq[LineKind],
    maxLineBytes: Int,
    from: Long,
    until: Long,
    inLine: Boolean,
    tooLong: Long => Unit,
    readBytes: Int = LineScanner.ReadBytes
) extends Iterator[WantedLine] {

  private val startBytes = kinds.map(_.startBytes).max
  private val kindOf = kinds.toArray
  private var bytes = new Array[Byte](readBytes)
  // What is read and not yet passed is bytes(at) to bytes(end - 1); bytes(0) has the offset `base`.
  private var at = 0
  private var end = 0
  private var base = from
  private var over = false
  private var found: Option[WantedLine] = None

  if (inLine) passLine()

  override def hasNext: Boolean = {
    while (found.isEmpty && !over) found = nextLine()
    found.isDefined
  }

  override def next(): WantedLine =
    if (hasNext) {
      val line = found.get
      found = None
      line
    } else throw new NoSuchElementException("no more lines")

  /** The next line if it is wanted. */
  private def nextLine(): Option[WantedLine] =
    if (base + at >= until || !hasBeginning()) {
      over = true
      None
    } else {
      val kind = kindOf.indexWhere(_.begins(bytes, at, end))
      if (kind >= 0) wanted(kindOf(kind))
      else {
        passLine()
        None
      }
    }

  private def wanted(kind: LineKind): Option[WantedLine] = {
    val start = base + at
    var looked = 0
    var newline = end
    do {
      newline = Newlines.first(bytes, at + looked, end)
      looked = newline - at
    } while (newline == end && looked <= maxLineBytes && readOn())
    // Reading on moves what is kept.
    newline = at + looked
    if (looked > maxLineBytes) {
      tooLong(start)
      at = newline
      passLine()
      None
    } else {
      val line = WantedLine(kind, start, Arrays.copyOfRange(bytes, at, newline))
      at = math.min(newline + 1, end)
      Some(line)
    }
  }

  private def passLine(): Unit = {
    at = Newlines.first(bytes, at, end)
    while (at == end && readAfresh()) at = Newlines.first(bytes, at, end)
    at = math.min(at + 1, end)
  }

  /** Whether there is another line; so much of it is read that its kind can be told. */
  private def hasBeginning(): Boolean = {
    var more = true
    while (more && end - at < startBytes) more = if (at == end) readAfresh() else readOn()
    at < end
  }

  /** Reads behind what is kept. */
  private def readOn(): Boolean = {
    if (at > 0) {
      System.arraycopy(bytes, at, bytes, 0, end - at)
      base += at
      end -= at
      at = 0
    }
    if (end == bytes.length) bytes = Arrays.copyOf(bytes, math.min(2L * bytes.length, maxLineBytes.toLong + readBytes).toInt)
    read()
  }

  /** Reads, and keeps nothing. */
  private def readAfresh(): Boolean = {
    if (bytes.length > readBytes) bytes = new Array[Byte](readBytes)
    base += end
    at = 0
    end = 0
    read()
  }

  private def read(): Boolean = {
    val count = in.read(bytes, end, bytes.length - end)
    end += math.max(0, count)
    count >= 0
  }
}

private[logs] object LineScanner {
  // Fits the second-level cache of a core.
  val ReadBytes: Int = 128 * 1024
}
