"""What compiled classes declare and refer to (chapter 4 of the JVM specification)."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_UTF8, _CLASS, _METHOD_OF_INTERFACE = 1, 7, 11
_MEMBERS = (9, 10, _METHOD_OF_INTERFACE)  # of a class: field, method
_BYTES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_TWO_ENTRIES = (5, 6)  # long and double

PRIVATE, STATIC, FINAL, INTERFACE, ABSTRACT = 0x2, 0x8, 0x10, 0x200, 0x400

_Pool = dict[int, tuple[int, bytes]]
# Name and descriptor, by which a class tells its members apart.
Signature = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Member:
    """A field or method as the calling class names it, with the JVM's spelling of classes and types.

    Attributes:
        of_interface: it is a method, and its owner was an interface when the calling class was compiled.
    """

    owner: str
    signature: Signature
    of_interface: bool


@dataclass(frozen=True, slots=True)
class ClassFile:
    """One class, by the JVM's names.

    Attributes:
        supertypes: the class above it, if any, and then its interfaces.
        declared: the flags of each field and method; a field's descriptor is never one of a method.
        members: fields and methods that its code refers to.
        classes: the classes that its code refers to.
    """

    name: str
    flags: int
    supertypes: tuple[str, ...]
    declared: dict[Signature, int]
    members: frozenset[Member]
    classes: frozenset[str]


def classes_of(jar: Path) -> dict[str, ClassFile]:
    """Each class of a jar, by its name with slashes."""
    with zipfile.ZipFile(jar) as opened:
        found = (parse_class(opened.read(name)) for name in opened.namelist() if name.endswith(".class"))
        return {one.name: one for one in found}


def parse_class(class_file: bytes) -> ClassFile:
    """One class from its bytes."""
    pool, offset = _constant_pool(class_file)

    def text(index: int) -> str:
        return pool[index][1].decode("utf-8", errors="replace")

    def class_name(index: int) -> str:
        return text(int.from_bytes(pool[index][1], "big"))

    def member(tag: int, entry: bytes) -> Member:
        owner, name_and_type = struct.unpack(">HH", entry)
        name, descriptor = struct.unpack(">HH", pool[name_and_type][1])
        return Member(class_name(owner), (text(name), text(descriptor)), tag == _METHOD_OF_INTERFACE)

    flags, this, parent, count = struct.unpack_from(">HHHH", class_file, offset)
    supertypes = (parent, *struct.unpack_from(f">{count}H", class_file, offset + 8))
    return ClassFile(
        name=class_name(this),
        flags=flags,
        supertypes=tuple(class_name(one) for one in supertypes if one),
        declared={(text(n), text(d)): access for access, n, d in _declared(class_file, offset + 8 + 2 * count)},
        members=frozenset(member(tag, entry) for tag, entry in pool.values() if tag in _MEMBERS),
        classes=frozenset(class_name(index) for index, (tag, _) in pool.items() if tag == _CLASS),
    )


def _declared(class_file: bytes, offset: int) -> Iterator[tuple[int, int, int]]:
    """Flags, and the entries of name and descriptor, of each field and then of each method."""
    for _ in ("fields", "methods"):
        (count,) = struct.unpack_from(">H", class_file, offset)
        offset += 2
        for _ in range(count):
            access, name, descriptor, attributes = struct.unpack_from(">HHHH", class_file, offset)
            yield access, name, descriptor
            offset += 8
            for _ in range(attributes):
                (length,) = struct.unpack_from(">I", class_file, offset + 2)
                offset += 6 + length


def _constant_pool(class_file: bytes) -> tuple[_Pool, int]:
    """Tag and content of each entry, by its index; and where the pool ends."""
    (entries,) = struct.unpack_from(">H", class_file, 8)
    pool: _Pool = {}
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
    return pool, offset
