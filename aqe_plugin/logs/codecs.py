"""Spark's event log compressions, as decompressors that are fed a file piece by piece.

zstd is the standard format. Spark's lz4 and snappy are the stream formats of the Java libraries lz4-java and
snappy-java, neither of which is the standard frame format; both are plain block lists and are read here.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from aqe_plugin.errors import EventLogError, ExtraMissingError
from aqe_plugin.machine.extras import install_command

# 32 MiB at most come out of so many.
_ZSTD_BYTES_AT_ONCE = 1024
# Spark's blocks have 32 KiB unless configured otherwise; a length beyond this is damage, and would be that much memory.
_MAX_BLOCK_BYTES = 64 * 1024 * 1024


# What a file begins with, by codec; an event log without compression begins with an event.
_FIRST_BYTES: dict[str, tuple[bytes, ...]] = {
    "": (b'{"Event":',),
    "zstd": (b"\x28\xb5\x2f\xfd",),
    "lz4": (b"LZ4Block",),
    "snappy": (b"\x82SNAPPY\x00",),
    "lzf": (b"ZV\x00", b"ZV\x01"),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that came out, and where a fresh decompressor can begin to come to them again.

    Attributes:
        restart_bytes: offset in the file of the block or frame that they are of.
        skip_bytes: what comes out of that block or frame before them.
    """

    data: bytes
    restart_bytes: int
    skip_bytes: int


class Decompressor(Protocol):
    """Keeps what it needs between two pieces; pieces may be cut anywhere."""

    def feed(self, data: bytes) -> Iterator[Piece]:
        """What can be decompressed now, bit by bit, so that everything before a damage comes out.

        Raises:
            EventLogError: the bytes are not of this compression, or damaged.
        """

    @property
    def complete(self) -> bool:
        """Whether the stream could end here; ``False`` inside a block or frame."""


def codec_of(head: bytes, named: str) -> str | None:
    """The codec of a file by its first bytes; ``named``, by its name, where they are of none.

    A History Server compacts with its own codec under the name that the application gave. ``None`` as long as what
    there is of the file may become another codec than ``named``.
    """
    for codec, beginnings in _FIRST_BYTES.items():
        if head.startswith(beginnings):
            return codec
        if head and codec != named and any(first.startswith(head) for first in beginnings):
            return None
    return named


def decompressor(codec: str, offset_bytes: int = 0) -> Decompressor:
    """A fresh decompressor.

    Args:
        codec: as Spark calls it, empty for none.
        offset_bytes: where in the file it begins: 0, or where a piece can be come to again.

    Raises:
        ExtraMissingError: the codec's Python package is not installed.
        EventLogError: the codec is not one of ``CODECS``.
    """
    if codec not in CODECS:
        raise EventLogError(
            f"it is compressed with {codec}, which aqe-plugin does not read: "
            "set spark.eventLog.compression.codec to zstd, lz4, snappy or none"
        )
    return CODECS[codec](offset_bytes)


class _Zstd:
    def __init__(self, offset_bytes: int) -> None:
        self._library = _library("zstandard", "zstandard", "zstd")
        self._frame: Any = None
        self._offset_bytes = self._frame_bytes = offset_bytes
        self._out_bytes = 0

    @property
    def complete(self) -> bool:
        return self._frame is None

    def feed(self, data: bytes) -> Iterator[Piece]:
        # A damage loses what one call was given, so each call is given little.
        for start in range(0, len(data), _ZSTD_BYTES_AT_ONCE):
            rest = data[start : start + _ZSTD_BYTES_AT_ONCE]
            while rest:
                yield self._piece(rest)
                used, rest = rest, self._frame.unused_data if self._frame.eof else b""
                self._offset_bytes += len(used) - len(rest)
                if self._frame.eof:
                    self._frame, self._frame_bytes, self._out_bytes = None, self._offset_bytes, 0

    def _piece(self, packed: bytes) -> Piece:
        self._frame = self._frame or self._library.ZstdDecompressor().decompressobj()
        try:
            out = self._frame.decompress(packed)
        except self._library.ZstdError as error:
            raise _damaged("zstd", error) from error
        before, self._out_bytes = self._out_bytes, self._out_bytes + len(out)
        return Piece(out, self._frame_bytes, before)


class _Blocks:
    """A list of blocks: collects bytes until a whole header, or a whole block, is there.

    Args:
        take: of what is there, and whether the file begins with it, the bytes that are used and their content; ``None``
            when more are needed.
    """

    def __init__(self, take: Callable[[memoryview, bool], tuple[int, bytes] | None], offset_bytes: int) -> None:
        self._take = take
        self._pending = b""
        self._offset_bytes = offset_bytes

    @property
    def complete(self) -> bool:
        return not self._pending

    def feed(self, data: bytes) -> Iterator[Piece]:
        buffer, position = self._pending + data, 0
        while (taken := self._take(memoryview(buffer)[position:], self._offset_bytes == 0)) is not None:
            used, out = taken
            yield Piece(out, self._offset_bytes, 0)
            position += used
            self._offset_bytes += used
        self._pending = buffer[position:]


_LZ4_HEADER = struct.Struct("<8sBiiI")  # magic, method and level, compressed length, length, checksum
_LZ4_RAW, _LZ4_PACKED = 0x10, 0x20
# Those of lz4-java's LZ4BlockOutputStream, whose checksum is an XXH32.
_CHECKSUM_SEED, _CHECKSUM_BITS = 0x9747B28C, 0x0FFFFFFF


def _plain(offset_bytes: int) -> _Blocks:
    return _Blocks(lambda view, _: (len(view), bytes(view)) if view else None, offset_bytes)


def _lz4(offset_bytes: int) -> _Blocks:
    library, checksums = _library("lz4.block", "lz4", "lz4"), _library("xxhash", "xxhash", "lz4")

    def take(view: memoryview, _: bool) -> tuple[int, bytes] | None:
        if len(view) < _LZ4_HEADER.size:
            return None
        magic, token, packed_length, length, checksum = _LZ4_HEADER.unpack_from(view)
        method, sound = token & 0xF0, range(_MAX_BLOCK_BYTES + 1)
        is_header = magic == b"LZ4Block" and method in (_LZ4_RAW, _LZ4_PACKED)
        if not is_header or packed_length not in sound or length not in sound:
            raise _damaged("lz4", "no block header where one belongs")
        end = _LZ4_HEADER.size + packed_length
        if len(view) < end:
            return None
        content = bytes(view[_LZ4_HEADER.size : end])
        try:
            content = content if method == _LZ4_RAW else library.decompress(content, uncompressed_size=length)
        except library.LZ4BlockError as error:
            raise _damaged("lz4", error) from error
        # A digit that changed leaves a line that can be read; the block that ends a stream has no checksum.
        if length and checksums.xxh32_intdigest(content, _CHECKSUM_SEED) & _CHECKSUM_BITS != checksum:
            raise _damaged("lz4", "the checksum of a block")
        return end, content

    return _Blocks(take, offset_bytes)


_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_SNAPPY_HEADER_BYTES = 16  # magic, version, compatible version


def _snappy(offset_bytes: int) -> _Blocks:
    library = _library("cramjam", "cramjam", "snappy")

    def take(view: memoryview, begins_file: bool) -> tuple[int, bytes] | None:
        # A stream after another begins with its own header; no length begins so, as it would be negative.
        if begins_file or view[:1] == _SNAPPY_MAGIC[:1]:
            if len(view) < _SNAPPY_HEADER_BYTES:
                return None
            if view[: len(_SNAPPY_MAGIC)] != _SNAPPY_MAGIC:
                raise _damaged("snappy", "no header where one belongs")
            return _SNAPPY_HEADER_BYTES, b""
        if len(view) < 4:
            return None
        length = int.from_bytes(view[:4], "big", signed=True)
        if not 0 <= length <= _MAX_BLOCK_BYTES:
            raise _damaged("snappy", "a block of impossible length")
        if len(view) < 4 + length:
            return None
        try:
            return 4 + length, bytes(library.snappy.decompress_raw(bytes(view[4 : 4 + length])))
        except library.DecompressionError as error:
            raise _damaged("snappy", error) from error

    return _Blocks(take, offset_bytes)


def _damaged(codec: str, what: object) -> EventLogError:
    return EventLogError(f"its {codec} data is damaged ({what})")


def _library(module: str, package: str, codec: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ExtraMissingError(
            f"it is compressed with {codec}, which needs the Python package {package}: {install_command('codecs')}"
        ) from error


CODECS: dict[str, Callable[[int], Decompressor]] = {
    "": _plain,
    "zstd": _Zstd,
    "lz4": _lz4,
    "snappy": _snappy,
}
