"""The bill of materials of the wheel in CycloneDX 1.6: the jars that it carries, and the packages that it asks for.

The jars bundle nothing: Spark, which provides all that they use, is no part of a release.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZipFile

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from publishing.checksums import sha256


def bill_of_materials(wheel: Path, tried: Path, made_at: datetime) -> str:
    """JSON, the same for the same arguments.

    Args:
        tried: requirements that pin each package, also those that others ask for, to the version that was tried.
        made_at: what the bill says of its own time.
    """
    content = wheel.read_bytes()
    name, version = wheel.name.split("-")[:2]
    own = Component(
        name=canonicalize_name(name),
        version=version,
        type=ComponentType.LIBRARY,
        purl=PackageURL("pypi", None, canonicalize_name(name), version),
        bom_ref=f"{canonicalize_name(name)}@{version}",
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256(content))],
    )
    parts = [*_jars(wheel), *_packages(tried)]
    bill = Bom(
        serial_number=uuid5(NAMESPACE_URL, f"{own.bom_ref.value} {sha256(content)}"),
        metadata=BomMetaData(component=own, timestamp=made_at),
        components=parts,
        dependencies=[Dependency(own.bom_ref, [Dependency(part.bom_ref) for part in parts])],
    )
    return str(JsonV1Dot6(bill).output_as_string(indent=2)) + "\n"


def _jars(wheel: Path) -> Iterator[Component]:
    with ZipFile(wheel) as packed:
        for path in sorted(name for name in packed.namelist() if name.endswith(".jar")):
            digest = HashType(alg=HashAlgorithm.SHA_256, content=sha256(packed.read(path)))
            yield Component(name=path, type=ComponentType.FILE, bom_ref=path, hashes=[digest])


def _packages(tried: Path) -> Iterator[Component]:
    lines = (line.partition("#")[0].strip() for line in tried.read_text(encoding="utf-8").splitlines())
    for requirement in (Requirement(line) for line in lines if line):
        (pin,) = requirement.specifier
        name = canonicalize_name(requirement.name)
        yield Component(
            name=name,
            version=pin.version,
            type=ComponentType.LIBRARY,
            purl=PackageURL("pypi", None, name, pin.version),
            bom_ref=f"{name}@{pin.version}",
            scope=ComponentScope.REQUIRED,
        )
