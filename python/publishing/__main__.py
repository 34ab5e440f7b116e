"""`python -m publishing dist`: adds the bill of materials and the checksums to the packages in a folder."""

import argparse
import subprocess
from datetime import datetime, timezone
from pathlib import Path

from publishing.bill_of_materials import bill_of_materials
from publishing.checksums import checksums

_ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder with the wheel")
    folder: Path = parser.parse_args().folder
    (wheel,) = folder.glob("*.whl")
    bill = folder / f"{wheel.name.partition('-py3')[0]}.cdx.json"
    bill.write_text(bill_of_materials(wheel, _ROOT / "deploy" / "docker" / "requirements.txt", _commit_time()))
    (folder / "SHA256SUMS").write_text(checksums(folder))
    print(f"{folder}: {bill.name}, SHA256SUMS and {sum(path.is_file() for path in folder.rglob('*')) - 2} packages")


def _commit_time() -> datetime:
    """The time of the commit: it must not differ between two runs."""
    seconds = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=_ROOT, text=True)
    return datetime.fromtimestamp(int(seconds), timezone.utc)


if __name__ == "__main__":
    main()
