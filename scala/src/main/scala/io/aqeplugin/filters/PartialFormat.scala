package io.aqeplugin.filters

import java.lang.Double.{doubleToRawLongBits, longBitsToDouble}
import java.nio.ByteBuffer

import io.aqeplugin.filters.Envelope.{putLongs, restAsLongs, valid}

/** The form in which a [[PartialFilter]] travels between tasks: an [[Envelope]] with magic `AQEP` around ten words and the words of the
  * rung. The ten are the limits (four), whether keys are integral, parts, added keys, whether there is a range, and the smallest and
  * largest code. Its checks and errors are those of [[FilterFormat]].
  */
object PartialFormat {

  final val Version: Short = 1

  private val envelope = Envelope(0x50455141, Version) // "AQEP" read as a little-endian number

  private final val HeadWords = 10
  private final val ExactState: Byte = 1
  private final val BitmapState: Byte = 2
  private final val BloomState: Byte = 3
  private final val RefusedState: Byte = 4

  def write(part: PartialFilter): Array[Byte] = part.state match {
    case KeyState.Exact(codes)     => writeWords(part, ExactState, codes)
    case KeyState.Bitmap(bitmap)   => writeWords(part, BitmapState, bitmap.firstWord +: bitmap.words)
    case KeyState.Bloom(words)     => writeWords(part, BloomState, SplitBlockBloom.unpadded(words))
    case KeyState.Refused(refusal) => writeWords(part, RefusedState, refusalWords(refusal))
  }

  def read(bytes: Array[Byte]): Either[FormatError, PartialFilter] = for {
    opened <- envelope.open(bytes)
    (kind, payload) = opened
    _ <- valid(payload.remaining >= HeadWords * java.lang.Long.BYTES, "the head is cut off")
    head = Array.fill(HeadWords)(payload.getLong())
    limits <- readLimits(head)
    _ <- valid((head(4) | head(7) | 1L) == 1L, "a flag is neither 0 nor 1")
    _ <- valid(head(5) >= 0 && head(5) <= Int.MaxValue && head(6) >= 0, s"${head(5)} parts with ${head(6)} keys")
    range <- readRange(head)
    state <- readState(kind, payload.slice().order(payload.order()), range, limits)
  } yield PartialFilter(limits, head(4) == 1L, head(5).toInt, head(6), range, state)

  private def writeWords(part: PartialFilter, kind: Byte, words: Array[Long]): Array[Byte] = {
    val head = Array(
      part.limits.expectedKeys,
      part.limits.exactMaxKeys.toLong,
      part.limits.maxFilterBytes,
      doubleToRawLongBits(part.limits.falsePositiveRate),
      if (part.integral) 1L else 0L,
      part.parts.toLong,
      part.addedKeys,
      if (part.range.isDefined) 1L else 0L,
      part.range.fold(0L)(_.min),
      part.range.fold(0L)(_.max)
    )
    envelope.seal(kind, (head.length + words.length) * java.lang.Long.BYTES) { buffer =>
      putLongs(buffer, head)
      putLongs(buffer, words)
    }
  }

  private def readLimits(head: Array[Long]): Either[FormatError, FilterLimits] = {
    val rate = longBitsToDouble(head(3))
    for {
      _ <- valid(head(1) >= 0 && head(1) <= Int.MaxValue, s"exactMaxKeys is ${head(1)}")
      problem = FilterLimits.problem(head(0), head(1).toInt, head(2), rate)
      _ <- valid(problem.isEmpty, problem.mkString)
    } yield FilterLimits(head(0), head(1).toInt, head(2), rate)
  }

  private def readRange(head: Array[Long]): Either[FormatError, Option[CodeRange]] =
    if (head(7) == 0L) Right(None)
    else valid(head(8) <= head(9), s"the range ${head(8)} to ${head(9)} is empty").map(_ => Some(CodeRange(head(8), head(9))))

  private def readState(kind: Byte, payload: ByteBuffer, range: Option[CodeRange], limits: FilterLimits): Either[FormatError, KeyState] =
    kind match {
      case ExactState =>
        for {
          codes <- FilterFormat.readCodes(payload)
          _ <- valid(codes.length <= FilterLadder.partExactKeys(limits), s"${codes.length} exact codes are over the limits")
          _ <- valid(range == codes.headOption.map(CodeRange(_, codes.last)), "the range does not match the codes")
        } yield KeyState.Exact(codes)
      case BitmapState =>
        for {
          bitmap <- FilterFormat.readBitmap(payload)
          _ <- valid(bitmap.sizeBytes <= FilterLadder.bitmapBytesLimit(limits), s"a bitmap of ${bitmap.sizeBytes} bytes is over the limits")
          _ <- valid(range == bitmap.codeRange, "the range does not match the codes")
        } yield KeyState.Bitmap(bitmap)
      case BloomState =>
        for {
          words <- FilterFormat.readBloomWords(payload)
          _ <- valid(
            FilterLadder.bloomBlocks(limits) == Right(SplitBlockBloom.blocksOf(words).toLong),
            s"a Bloom filter of ${SplitBlockBloom.blocksOf(words)} blocks does not fit the limits"
          )
          _ <- valid(range.isDefined, "a Bloom filter has a range")
        } yield KeyState.Bloom(words)
      case RefusedState => restAsLongs(payload).flatMap(readRefusal).map(KeyState.Refused(_))
      case other        => Left(FormatError.UnknownKind(other.toInt))
    }

  private def refusalWords(refusal: FilterRefusal): Array[Long] = refusal match {
    case FilterRefusal.TooManyBytes(neededBytes, limitBytes) => Array(1L, neededBytes, limitBytes)
    case FilterRefusal.IncompleteBuild(parts, expectedParts) => Array(2L, parts.toLong, expectedParts.toLong)
    case FilterRefusal.Overfull(rate, limit)                 => Array(3L, doubleToRawLongBits(rate), doubleToRawLongBits(limit))
    case FilterRefusal.IncompatibleParts                     => Array(4L, 0L, 0L)
  }

  private def readRefusal(words: Array[Long]): Either[FormatError, FilterRefusal] = words match {
    case Array(1L, neededBytes, limitBytes) => Right(FilterRefusal.TooManyBytes(neededBytes, limitBytes))
    case Array(2L, parts, expectedParts)    => Right(FilterRefusal.IncompleteBuild(parts.toInt, expectedParts.toInt))
    case Array(3L, rate, limit)             => Right(FilterRefusal.Overfull(longBitsToDouble(rate), longBitsToDouble(limit)))
    case Array(4L, 0L, 0L)                  => Right(FilterRefusal.IncompatibleParts)
    case _                                  => Left(FormatError.InvalidPayload("an unknown refusal"))
  }
}
