"""``python -m aqe_plugin`` is the ``aqe-plugin`` command."""

from aqe_plugin.cli.main import main

if __name__ == "__main__":
    main()
