"""Everything that is printed: values in, tables, JSON, lines of a conf or diffs out. Nothing here decides anything."""

from aqe_plugin.render.queries import print_json, print_table, query_json, query_table
from aqe_plugin.render.terminal import shown, visible

__all__ = ["print_json", "print_table", "query_json", "query_table", "shown", "visible"]
