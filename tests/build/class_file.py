"""The members that compiled classes refer to, read from their constant pools (chapter 4.4 of the JVM specification)."""

import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path

_UTF8 = 1
_MEMBERS = (9, 10, 11)  # of a class: field, method; method of an interface
_BYTES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TWO_ENTRIES = (5, 6)  # long and double


@dataclass(frozen=True, order=True)
class Member:
    """A field or method as the calling class names it, with the JVM's spelling of classes and types."""

    owner: str
    name: str
    descriptor: str


def members_by_class(jar: Path) -> dict[str, frozenset[Member]]:
    """Each class of a jar, by its name with slashes, with the members that it refers to."""
    with zipfile.ZipFile(jar) as opened:
        names = [name for name in opened.namelist() if name.endswith(".class")]
        return {name.removesuffix(".class"): referred_members(opened.read(name)) for name in names}


def referred_members(class_file: bytes) -> frozenset[Member]:
    """The members that the code of one class file refers to."""
    pool = _constant_pool(class_file)

    def text(index: int) -> str:
        return pool[index][1].decode("utf-8", errors="replace")

    def pair(index: int) -> tuple[int, int]:
        first, second = struct.unpack(">HH", pool[index][1])
        return first, second

    def member(index: int) -> Member:
        owner, name_and_type = pair(index)
        name, descriptor = pair(name_and_type)
        return Member(text(int.from_bytes(pool[owner][1], "big")), text(name), text(descriptor))

    return frozenset(member(index) for index, (tag, _) in pool.items() if tag in _MEMBERS)


def _constant_pool(class_file: bytes) -> dict[int, tuple[int, bytes]]:
    """Tag and content of each entry, by its index."""
    (entries,) = struct.unpack_from(">H", class_file, 8)
    pool: dict[int, tuple[int, bytes]] = {}
    index, offset = 1, 10
    while index < entries:
        tag = class_file[offset]
        start = offset + 1
        if tag == _UTF8:
            start += 2
            (length,) = struct.unpack_from(">H", class_file, offset + 1)
        else:
            length = _BYTES[tag]
        pool[index] = (tag, class_file[start : start + length])
        offset = start + length
        index += 2 if tag in _TWO_ENTRIES else 1
    return pool
