"""What a jar of ours needs of Spark's classes, looked up in the jars of one Spark without starting it.

The rules are the JVM's (chapters 5.4.3 and 5.4.6 of its specification). Whatever the JDK may have is taken to be there.
"""

from __future__ import annotations

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from aqe_plugin.conf.stores.locate import core_version
from aqe_plugin.errors import AqePluginError, TargetError
from aqe_plugin.install.checks import Check
from aqe_plugin.install.jars import carried_jars, jar_for, spark_line
from aqe_plugin.machine.class_file import (
    ABSTRACT,
    FINAL,
    INTERFACE,
    PRIVATE,
    STATIC,
    ClassFile,
    Member,
    Signature,
    classes_of,
    parse_class,
)

_HADOOP = "org/apache/hadoop/"
# Its stubs of classes of Spark's core are never the ones that a driver loads.
_STUBS = "spark-connect-shims"
_WITHOUT_MEMBERS = frozenset({"java/lang/Object", "java/io/Serializable", "java/lang/Cloneable"})
_METHODS_OF_OBJECT = frozenset(
    ["clone", "equals", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"]
)
_TYPE = re.compile(r"(?P<array>\[*)(?:L(?P<name>[^;]+);|(?P<primitive>[BCDFIJSVZ]))")
_PRIMITIVES = dict(
    zip("BCDFIJSVZ", ["byte", "char", "double", "float", "int", "long", "short", "void", "boolean"], strict=True),
)
_JDK = ("java/", "javax/", "jdk/", "sun/", "com/sun/", "org/w3c/dom/", "org/xml/sax/", "org/ietf/jgss/")


@dataclass(frozen=True, slots=True)
class Broken:
    """One thing of Spark's that our jar cannot do without.

    Attributes:
        what: the class or member, and what is wrong with it.
        users: our classes that would fail where they come to it, or not load.
    """

    what: str
    users: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.users) - 3} more" if len(self.users) > 3 else ""
        return f"{self.what}, for {', '.join(self.users[:3])}{more}"


@dataclass(frozen=True, slots=True)
class Links:
    """What came of a check.

    Attributes:
        references: how many references of ours were looked up.
    """

    spark_version: str
    jar: Path
    references: int
    broken: tuple[Broken, ...]


def jars_folder(spark: Path) -> Path:
    """The jars of ``spark``: a Spark's folder, one that pip installed PySpark into, or the folder of jars itself.

    Raises:
        TargetError: no Spark is there.
    """
    for folder in (spark / "jars", spark / "pyspark" / "jars", spark):
        if core_version(folder) is not None:
            return folder
    raise TargetError(f"{spark}: there is no spark-core_*.jar in it or in its jars folder, so it is not a Spark.")


def check_links(jars: Path, jar: Path | None = None) -> Links:
    """Looks up all that ``jar`` refers to in the Spark whose jars are in ``jars``.

    Args:
        jar: without it, the one for that Spark's line; where there is none, the one for the newest line.

    Raises:
        TargetError: a jar cannot be read.
    """
    version = str(core_version(jars))
    if jar is None:
        carried = carried_jars()
        jar = carried.get(spark_line(version)) or next(iter(carried.values()), None) or jar_for(version)
    with ExitStack() as held:
        try:
            linked = _Linked(classes_of(jar), jars, held)
            broken = linked.broken()
        except (OSError, zipfile.BadZipFile) as error:
            raise TargetError(f"{jars}: a jar in it, or {jar}, cannot be read ({error}).") from error
        return Links(version, jar, sum(len(one.members | one.classes) for one in linked.ours.values()), broken)


def classes_there(spark: Path) -> list[Check]:
    """Whether the jar finds in ``spark`` all that it was compiled against; one check for each thing that is missing."""
    name, fix = "classes", "Leave the plugin out of this Spark, whose classes differ from those of Spark's releases."
    try:
        links = check_links(jars_folder(spark))
    except AqePluginError as error:
        return [Check(name, "failed", str(error))]
    looked_up = f"{links.references} references of {links.jar.name}"
    if not links.broken:
        return [Check(name, "ok", f"all {looked_up} are in Spark {links.spark_version}")]
    found = f"of {looked_up}, these fail in Spark {links.spark_version}"
    return [Check(name, "failed", f"{found}: {len(links.broken)}", fix)] + [
        Check(name, "failed", str(broken)) for broken in links.broken
    ]


class _Linked:
    """The classes of ours beside those in the jars of a folder, each of which is read when it is asked for."""

    def __init__(self, ours: dict[str, ClassFile], folder: Path, held: ExitStack) -> None:
        self.ours = ours
        self._read: dict[str, ClassFile | None] = dict(ours)
        self._inherited: dict[str, list[ClassFile]] = {}
        self._jar_of: dict[str, zipfile.ZipFile] = {}
        for path in sorted(folder.glob("*.jar"), reverse=True):
            if not path.name.startswith(_STUBS):
                opened = held.enter_context(zipfile.ZipFile(path))
                self._jar_of |= dict.fromkeys(opened.namelist(), opened)
        # A Spark "without Hadoop" takes it from SPARK_DIST_CLASSPATH, which is another machine's.
        with_hadoop = f"{_HADOOP}conf/Configuration.class" in self._jar_of
        self._elsewhere = _JDK if with_hadoop else (*_JDK, _HADOOP)

    def broken(self) -> tuple[Broken, ...]:
        """What is missing or cannot be used, by name, each with all that use it."""
        users: dict[str, set[str]] = defaultdict(set)
        for one in self.ours.values():
            for what in self._broken_in(one):
                users[what].add(one.name.split("$")[0].replace("/", "."))
        return tuple(Broken(what, tuple(sorted(of))) for what, of in sorted(users.items()))

    def _broken_in(self, one: ClassFile) -> Iterator[str]:
        for name in {_element(name) for name in one.classes}:
            if name and not name.startswith(self._elsewhere) and self._class(name) is None:
                yield f"class {_dotted(name)} is not there"
        for member in one.members:
            yield from self._broken_member(member)
        inherited = [(above, above.declared) for above in self._above(one) if above.name not in self.ours]
        for above, declared in inherited:
            if above.name in one.supertypes and above.flags & FINAL:
                yield f"class {_dotted(above.name)} is final"
            for signature, flags in declared.items():
                name = _spelled(above.name, *signature)
                own = one.declared.get(signature, STATIC)
                if flags & FINAL and not (flags | own) & (PRIVATE | STATIC) and signature[0] != "<init>":
                    yield f"{name} is final"
                if flags & ABSTRACT and not one.flags & ABSTRACT and not self._implements(one, signature):
                    yield f"{name} is abstract and not implemented"

    def _broken_member(self, member: Member) -> Iterator[str]:
        owner = self._class(member.owner)
        # What is not there was named as a class.
        if owner is None:
            return
        simple, descriptor = member.signature
        name, is_method = _spelled(member.owner, simple, descriptor), descriptor.startswith("(")
        found = self._declaring(owner, member.signature)
        if found is None:
            # A constant of an object in Scala is a method whose result has another type.
            others = sorted(d for n, d in owner.declared if n == simple and d.startswith("(") == is_method)
            there = f", but {' and '.join(map(_spelled_type, others))}" if others else ""
            yield f"{name} is not there{there}"
        elif found & PRIVATE and owner.name not in self.ours:
            yield f"{name} is private"
        elif is_method and member.of_interface != bool(owner.flags & INTERFACE):
            yield f"{name} is {'not ' if member.of_interface else ''}of an interface"

    def _declaring(self, owner: ClassFile, signature: Signature) -> int | None:
        """The flags of the member of ``owner``, or of what it inherits; 0 for the JDK's."""
        inherited = [] if signature[0] == "<init>" else self._above(owner)
        for one in (owner, *inherited):
            if (flags := one.declared.get(signature)) is not None:
                return flags
        return 0 if self._is_of_jdk(owner, signature) else None

    def _is_of_jdk(self, owner: ClassFile, signature: Signature) -> bool:
        """Whether ``owner`` may inherit a member from the JDK, whose classes are not read."""
        name, descriptor = signature
        types = (one["name"] for one in _TYPE.finditer(descriptor))
        if name == "<init>" or not all(one.startswith(self._elsewhere) for one in types if one):
            return False
        outside = {name for one in (owner, *self._above(owner)) for name in one.supertypes if self._class(name) is None}
        return name in _METHODS_OF_OBJECT or bool(outside - _WITHOUT_MEMBERS)

    def _implements(self, one: ClassFile, signature: Signature) -> bool:
        chain = [one]
        while chain[-1].supertypes and (parent := self._class(chain[-1].supertypes[0])) is not None:
            chain.append(parent)
        for above in chain:
            if signature in above.declared:
                return not above.declared[signature] & ABSTRACT
        defaults = (above.declared.get(signature, ABSTRACT) for above in self._above(one))
        return any(not flags & (ABSTRACT | STATIC | PRIVATE) for flags in defaults) or self._is_of_jdk(
            chain[-1], signature
        )

    def _above(self, one: ClassFile) -> list[ClassFile]:
        """All that ``one`` inherits from and that can be read; parents before interfaces."""
        if one.name not in self._inherited:
            found: dict[str, ClassFile] = {}
            for above in filter(None, map(self._class, one.supertypes)):
                found |= {more.name: more for more in (above, *self._above(above)) if more.name not in found}
            self._inherited[one.name] = list(found.values())
        return self._inherited[one.name]

    def _class(self, name: str) -> ClassFile | None:
        if name not in self._read:
            entry = f"{name}.class"
            jar = self._jar_of.get(entry)
            self._read[name] = None if jar is None else parse_class(jar.read(entry))
        return self._read[name]


def _element(name: str) -> str:
    """The class of an array's elements; empty for primitive ones."""
    if not name.startswith("["):
        return name
    element = name.lstrip("[")
    return element[1:-1] if element.startswith("L") else ""


def _dotted(name: str) -> str:
    return name.replace("/", ".")


def _spelled(owner: str, name: str, descriptor: str) -> str:
    """A member as people write it: a constructor by the name of its class."""
    if name == "<init>":
        return f"{_dotted(owner)}{_spelled_type(descriptor)}"
    return f"{_dotted(owner)}.{name}{'' if descriptor.startswith('(') else ': '}{_spelled_type(descriptor)}"


def _spelled_type(descriptor: str) -> str:
    """A descriptor with the simple names of its classes."""
    if not descriptor.startswith("("):
        return _TYPE.sub(_simple, descriptor)
    taken, given = descriptor[1:].split(")")
    spelled = ", ".join(_simple(one) for one in _TYPE.finditer(taken))
    return f"({spelled}){'' if given == 'V' else ': ' + _spelled_type(given)}"


def _simple(match: re.Match[str]) -> str:
    name = match["name"].rsplit("/", 1)[-1] if match["name"] else _PRIMITIVES[match["primitive"]]
    return name + "[]" * len(match["array"])
