"""What ``spark-submit`` is given: ``aqe-plugin pipeline`` with the arguments behind the script."""

from __future__ import annotations

import sys

from aqe_plugin.cli.main import main

if __name__ == "__main__":
    main(["pipeline", *sys.argv[1:]])
