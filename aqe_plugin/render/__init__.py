"""Everything that is printed: values in; tables, JSON, conf lines or diffs out. Nothing here decides anything."""
