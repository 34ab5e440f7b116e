package io.aqeplugin.filters

/** Why bytes are not a filter; `text` is for a log line. */
sealed abstract class FormatError extends Product with Serializable {
  def text: String
}

object FormatError {
  final case class TooShort(bytes: Int, neededBytes: Int) extends FormatError {
    override def text: String = s"$bytes bytes; a stored filter has at least $neededBytes"
  }

  final case class WrongMagic(magic: Int, expected: Int) extends FormatError {
    override def text: String = f"starts with 0x$magic%08x instead of 0x$expected%08x: not a filter, or only a part of one"
  }

  final case class UnknownVersion(version: Int, supported: Int) extends FormatError {
    override def text: String = s"format version $version; this release reads version $supported"
  }

  final case class WrongLength(bytes: Int, announcedBytes: Long) extends FormatError {
    override def text: String = s"$bytes bytes; the header says $announcedBytes"
  }

  final case class WrongChecksum(computed: Int, stored: Int) extends FormatError {
    override def text: String = f"CRC32C is 0x$computed%08x; the stored one is 0x$stored%08x"
  }

  final case class UnknownKind(kind: Int) extends FormatError {
    override def text: String = s"this release does not know kind $kind"
  }

  /** The bytes are undamaged but are not a filter. */
  final case class InvalidPayload(what: String) extends FormatError {
    override def text: String = what
  }
}
