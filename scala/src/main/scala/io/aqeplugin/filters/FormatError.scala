package io.aqeplugin.filters

/** Why bytes are not a filter; `text` is meant for a log line. */
sealed abstract class FormatError extends Product with Serializable {
  def text: String
}

object FormatError {
  final case class TooShort(bytes: Int, neededBytes: Int) extends FormatError {
    override def text: String = s"$bytes bytes, a stored filter has at least $neededBytes"
  }

  final case class WrongMagic(magic: Int, expected: Int) extends FormatError {
    override def text: String = f"starts with 0x$magic%08x instead of 0x$expected%08x: something else, or a part instead of a whole filter"
  }

  final case class UnknownVersion(version: Int, supported: Int) extends FormatError {
    override def text: String = s"format version $version, this release reads version $supported"
  }

  final case class WrongLength(bytes: Int, announcedBytes: Long) extends FormatError {
    override def text: String = s"$bytes bytes, its header announces $announcedBytes"
  }

  final case class WrongChecksum(computed: Int, stored: Int) extends FormatError {
    override def text: String = f"CRC32C is 0x$computed%08x, stored was 0x$stored%08x"
  }

  final case class UnknownKind(kind: Int) extends FormatError {
    override def text: String = s"kind $kind is not known to this release"
  }

  /** The bytes arrived as they were written, and what was written is no filter. */
  final case class InvalidPayload(what: String) extends FormatError {
    override def text: String = what
  }
}
