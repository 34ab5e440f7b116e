"""A file of SQL is split into statements as Spark's SQL shell splits it."""

from __future__ import annotations

import pytest

from aqe_plugin.api.sql_script import statements_of


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;\n", ["SELECT 1"]),
        (" USE a;; ;SELECT 1 ; ", ["USE a", "SELECT 1"]),
        ("SELECT ';', \";\", `;` FROM t; SELECT 2", ["SELECT ';', \";\", `;` FROM t", "SELECT 2"]),
        (r"SELECT 'it\';s'; SELECT 2", [r"SELECT 'it\';s'", "SELECT 2"]),
        ("SELECT '\";'; SELECT \"';\"", ["SELECT '\";'", 'SELECT "\';"']),
        ("SELECT 1 -- a; b\n, 2; SELECT 3", ["SELECT 1 -- a; b\n, 2", "SELECT 3"]),
        ("SELECT /* ; /* ; */ ; */ 1; SELECT 2", ["SELECT /* ; /* ; */ ; */ 1", "SELECT 2"]),
        ("-- a header; with it's quote\nSELECT 1;\n-- the end", ["-- a header; with it's quote\nSELECT 1"]),
        ("/* nothing */ ; -- here\n", []),
        ("SELECT '--'; SELECT '/*'", ["SELECT '--'", "SELECT '/*'"]),
        ("SELECT 1 - -1; SELECT 2 / 2", ["SELECT 1 - -1", "SELECT 2 / 2"]),
        ("SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]),
        ("SELECT 1 /* open; SELECT 2", ["SELECT 1 /* open; SELECT 2"]),
        ("", []),
    ],
)
def test_statements_end_at_semicolons_outside_of_quotes_and_comments(text: str, statements: list[str]) -> None:
    assert statements_of(text) == statements
