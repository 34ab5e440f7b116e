"""Spark's event log compressions, as decompressors that are fed a file piece by piece.

zstd is the standard format. Spark's lz4 and snappy are the stream formats of the Java libraries lz4-java and
snappy-java, neither of which is the standard frame format; both are plain block lists and are read here.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
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


class _Plain:
    complete = True

    def __init__(self, offset_bytes: int) -> None:
        self._offset_bytes = offset_bytes

    def feed(self, data: bytes) -> Iterator[Piece]:
        yield Piece(data, self._offset_bytes, 0)
        self._offset_bytes += len(data)


class _Zstd:
    def __init__(self, offset_bytes: int) -> None:
        self._library: Any = _library("zstandard", "zstandard", "zstd")
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
            raise EventLogError(f"its zstd data is damaged ({error})") from error
        before, self._out_bytes = self._out_bytes, self._out_bytes + len(out)
        return Piece(out, self._frame_bytes, before)


class _Blocks:
    """Base of the two block formats: collects bytes until a whole header, or a whole block, is there."""

    def __init__(self, offset_bytes: int) -> None:
        self._pending = b""
        self._offset_bytes = offset_bytes

    @property
    def complete(self) -> bool:
        return not self._pending

    def feed(self, data: bytes) -> Iterator[Piece]:
        buffer, position = self._pending + data, 0
        while (taken := self._take(memoryview(buffer)[position:])) is not None:
            used, out = taken
            yield Piece(out, self._offset_bytes, 0)
            position += used
            self._offset_bytes += used
        self._pending = buffer[position:]

    def _take(self, view: memoryview) -> tuple[int, bytes] | None:
        """Bytes used and their content, or ``None`` when more are needed."""
        raise TypeError("a block format says how a block is taken")


class _Lz4Blocks(_Blocks):
    _MAGIC = b"LZ4Block"
    _HEADER = struct.Struct("<8sBiiI")  # magic, method and level, compressed length, length, checksum
    _RAW, _LZ4 = 0x10, 0x20
    # Those of lz4-java's LZ4BlockOutputStream, whose checksum is an XXH32.
    _CHECKSUM_SEED, _CHECKSUM_BITS = 0x9747B28C, 0x0FFFFFFF

    def __init__(self, offset_bytes: int) -> None:
        super().__init__(offset_bytes)
        self._library: Any = _library("lz4.block", "lz4", "lz4")
        self._checksums: Any = _library("xxhash", "xxhash", "lz4")

    def _take(self, view: memoryview) -> tuple[int, bytes] | None:
        if len(view) < self._HEADER.size:
            return None
        magic, token, compressed_length, length, checksum = self._HEADER.unpack_from(view)
        method = token & 0xF0
        lengths_are_sound = 0 <= compressed_length <= _MAX_BLOCK_BYTES and 0 <= length <= _MAX_BLOCK_BYTES
        if magic != self._MAGIC or method not in (self._RAW, self._LZ4) or not lengths_are_sound:
            raise EventLogError("its lz4 data is damaged (no block header where one belongs)")
        end = self._HEADER.size + compressed_length
        if len(view) < end:
            return None
        content = self._content(bytes(view[self._HEADER.size : end]), method, length)
        # A digit that changed leaves a line that can be read; the block that ends a stream has no checksum.
        if length and self._checksums.xxh32_intdigest(content, self._CHECKSUM_SEED) & self._CHECKSUM_BITS != checksum:
            raise EventLogError("its lz4 data is damaged (the checksum of a block)")
        return end, content

    def _content(self, block: bytes, method: int, length: int) -> bytes:
        if method == self._RAW:
            return block
        try:
            content: bytes = self._library.decompress(block, uncompressed_size=length)
        except self._library.LZ4BlockError as error:
            raise EventLogError(f"its lz4 data is damaged ({error})") from error
        return content


class _SnappyBlocks(_Blocks):
    _MAGIC = b"\x82SNAPPY\x00"
    _HEADER_BYTES = 16  # magic, version, compatible version
    _LENGTH = struct.Struct(">i")

    def __init__(self, offset_bytes: int) -> None:
        super().__init__(offset_bytes)
        self._library: Any = _library("cramjam", "cramjam", "snappy")
        self._begun = offset_bytes > 0

    def _take(self, view: memoryview) -> tuple[int, bytes] | None:
        # A stream after another begins with its own header; no length begins so, as it would be negative.
        if bytes(view[:1]) == self._MAGIC[:1] or not self._begun:
            return self._take_header(view)
        if len(view) < self._LENGTH.size:
            return None
        (length,) = self._LENGTH.unpack_from(view)
        if not 0 <= length <= _MAX_BLOCK_BYTES:
            raise EventLogError("its snappy data is damaged (a block of impossible length)")
        end = self._LENGTH.size + length
        if len(view) < end:
            return None
        try:
            return end, bytes(self._library.snappy.decompress_raw(bytes(view[self._LENGTH.size : end])))
        except self._library.DecompressionError as error:
            raise EventLogError(f"its snappy data is damaged ({error})") from error

    def _take_header(self, view: memoryview) -> tuple[int, bytes] | None:
        if len(view) < self._HEADER_BYTES:
            return None
        if bytes(view[: len(self._MAGIC)]) != self._MAGIC:
            raise EventLogError("its snappy data is damaged (no header where one belongs)")
        self._begun = True
        return self._HEADER_BYTES, b""


def _library(module: str, package: str, codec: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ExtraMissingError(
            f"it is compressed with {codec}, which needs the Python package {package}: {install_command('codecs')}"
        ) from error


CODECS: dict[str, Callable[[int], Decompressor]] = {
    "": _Plain,
    "zstd": _Zstd,
    "lz4": _Lz4Blocks,
    "snappy": _SnappyBlocks,
}
