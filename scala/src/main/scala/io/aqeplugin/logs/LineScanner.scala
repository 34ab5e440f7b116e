package io.aqeplugin.logs

import java.io.InputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** A requested line, without its end; `offset` is the position of its first byte in the file. */
final private[logs] case class WantedLine(kind: LineKind, offset: Long, bytes: Array[Byte]) {
  def text: String = new String(bytes, UTF_8)
}

/** The requested lines of a stream, in bounded memory: it buffers one requested line, of at most `maxLineBytes`, and one read.
  *
  * A line ends with a newline or with the stream. Its first bytes tell its kind, and the rest of an unrequested line is skipped. A
  * requested line that is too long is skipped too, after a call of `tooLong` with its offset.
  *
  * @param in
  *   closed by the caller
  * @param from
  *   offset of the first byte of `in`
  * @param until
  *   lines that begin here or later belong to another split
  * @param inLine
  *   whether the first byte is inside a line, which belongs to another split
  * @param readBytes
  *   number of bytes per read, more than the beginning of any kind
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
  // bytes(at) to bytes(end - 1) are read and not yet consumed; bytes(0) has the offset `base`.
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
    } else throw new NoSuchElementException("there are no more lines")

  /** The next line, if it is requested. */
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
    // Reading on moves the buffered bytes.
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

  /** Whether there is another line. Reads enough of it to recognize its kind. */
  private def hasBeginning(): Boolean = {
    var more = true
    while (more && end - at < startBytes) more = if (at == end) readAfresh() else readOn()
    at < end
  }

  /** Reads more bytes after the buffered ones. */
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

  /** Reads into an empty buffer. */
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
