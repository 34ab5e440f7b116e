"""``spark-defaults.conf`` as Spark reads it, changed without touching any other byte."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aqe_plugin.conf.syntax.java_properties import escaped
from aqe_plugin.conf.syntax.properties import PropertiesConf, parse_properties
from aqe_plugin.errors import TargetError

# Whatever means something to the syntax, often; and any byte at all, sometimes.
PIECES = ["spark.plugins", "spark.x", "a", "=", ":", " ", "\t", "\f", "\n", "\r", "\r\n", "\\", "\\\n", "#", "!", "é"]
# Spark takes these off both ends of a value.
UNPRINTED = "".join(map(chr, range(33)))
FILES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map(lambda parts: "".join(parts).encode()),
    st.binary(max_size=60),
)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(lambda value: value.strip(UNPRINTED))


def conf(text: str) -> PropertiesConf:
    return parse_properties(text.encode(), "spark-defaults.conf")


def conf_or_none(content: bytes) -> PropertiesConf | None:
    try:
        return parse_properties(content, "f")
    except TargetError:
        return None


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("spark.master local", "spark.master", "local"),
        ("spark.master=local", "spark.master", "local"),
        ("  spark.master \t: local \t\r\n", "spark.master", "local"),
        ("spark.master = = x", "spark.master", "= x"),
        ("spark.master", "spark.master", ""),
        ("spark.jars a,\\\n     b,\\\r\n  c", "spark.jars", "a,b,c"),
        ("spark.jars a\\\n\nspark.x b", "spark.jars", "a"),
        ("spark.jars a\\\\\nspark.x b", "spark.jars", "a\\"),
        ("spark.jars a\\\n#b", "spark.jars", "a#b"),
        ("spark\\ x\\=y z", "spark x=y", "z"),
        ("spark.x C:\\\\jars\\n\\q", "spark.x", "C:\\jars\nq"),
        ("spark.x \\u00e9", "spark.x", "é"),
        ("spark.x é", "spark.x", "é"),
        ("spark.x 1\nspark.x 2", "spark.x", "2"),
        ("! note\n# note \\\nspark.x 1", "spark.x", "1"),
    ],
)
def test_a_value_is_read_as_java_reads_it(text: str, key: str, value: str) -> None:
    assert conf(text).get(key) == value


def test_a_malformed_escape_is_refused_with_its_line() -> None:
    with pytest.raises(TargetError) as error:
        conf("spark.x 1\nspark.home C:\\users\n")
    assert str(error.value).startswith("spark-defaults.conf, line 2: ")


def test_a_repeated_key_is_changed_where_spark_reads_it() -> None:
    text = "spark.plugins a\nspark.master x\nspark.plugins b\n"
    assert conf(text).remarks() == ("spark.plugins is set 2 times; Spark takes the last, on line 3.",)
    assert conf(text).with_value("spark.plugins", "b,c").text == text.replace(" b", " b,c")


def test_appending_a_key_keeps_joined_lines_and_comments() -> None:
    text = "# one\r\nspark.jars   /a.jar,\\\r\n             /b.jar  \r\n! end\r\n"
    assert conf(text).with_value("spark.jars", "/a.jar,/b.jar,/c.jar").text == text.replace("/b.jar", "/b.jar,/c.jar")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "k v\n"),
        ("# note", "# note\nk v"),
        ("a b\n", "a b\nk v\n"),
        ("a b", "a b\nk v"),
        ("a = b\r\n", "a = b\r\nk = v\r\n"),
        ("a=b\\", "k=v\na=b\\"),
        ("a=b\\\n", "k=v\na=b\\\n"),
    ],
)
def test_a_new_line_is_written_in_the_files_own_style(text: str, expected: str) -> None:
    assert conf(text).with_value("k", "v").text == expected


@given(FILES)
def test_every_entry_has_the_number_of_its_first_line(content: bytes) -> None:
    parsed = conf_or_none(content)
    assert parsed is None or all(
        entry.line == 1 + len(re.findall(r"\r\n|\r|\n", parsed.text[: entry.start])) for entry in parsed.entries
    )


@given(FILES)
def test_every_file_is_rendered_as_it_was_read(content: bytes) -> None:
    parsed = conf_or_none(content)
    assert parsed is None or parsed.render() == content


@given(FILES, VALUES)
@example(b"\\\r\n", "v")
@example(b"a=b\\\n   ", "v")
def test_adding_and_removing_a_key_restores_the_bytes(content: bytes, value: str) -> None:
    before = conf_or_none(content)
    if before is None or before.get("spark.new") is not None:
        return
    added = before.with_value("spark.new", value)
    assert added.get("spark.new") == value
    assert {key: at for key, at in added.items().items() if key not in ("spark.new", "")} == {
        key: at for key, at in before.items().items() if key != ""
    }
    assert parse_properties(added.render(), "f") == added
    assert added.without("spark.new").render() == content


@given(FILES, VALUES)
def test_changing_a_value_changes_no_other(content: bytes, value: str) -> None:
    before = conf_or_none(content)
    if before is None:
        return
    # A lone backslash at the end of a file is an entry without a key to Java; nobody can change that.
    for key in filter(None, before.items()):
        changed = before.with_value(key, value)
        assert changed.items() == {**before.items(), key: value}


@given(st.lists(st.sampled_from(["a.B", "/x y.jar", "é"]), min_size=1, max_size=3), st.sampled_from([" ", " = ", ":"]))
def test_appending_and_removing_a_list_entry_restores_the_bytes(entries: list[str], separator: str) -> None:
    joined = ",\\\n   ".join(entries)
    before = conf(f"x 1\nspark.plugins{separator}{joined}  \n# end")
    value = before.get("spark.plugins")
    assert value is not None
    assert before.with_value("spark.plugins", value + ",new").with_value("spark.plugins", value) == before


@given(VALUES)
def test_an_escaped_value_is_read_back(value: str) -> None:
    assert conf(f"k={escaped(value)}").get("k") == value
