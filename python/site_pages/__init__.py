"""The documentation as a site: what Sphinx reads is written here from the pages, the commands and the docstrings."""
