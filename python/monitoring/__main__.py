"""``python -m monitoring FOLDER`` writes the generated files into the project's folder."""

from __future__ import annotations

import sys
from pathlib import Path

from monitoring.files import generated_files

if __name__ == "__main__":
    for path, content in generated_files(Path(sys.argv[1])).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(path)
