"""What of our jar would fail in a Spark, by real class files: ours are compiled against one version of Spark's."""

from __future__ import annotations

import re
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from aqe_plugin.errors import TargetError
from aqe_plugin.install.jars import carried_jars
from aqe_plugin.install.links import check_links, classes_there, jars_folder
from aqe_plugin.machine.pyspark import import_pyspark

# Where each statement of a case stands in a class `Ours` of its own package, unless the case has more of it.
OURS = "class Ours { void use() throws Exception { %s } }"


@dataclass(frozen=True)
class Case:
    """A class or more of Spark's before and after a change, and what ours makes of it."""

    before: str
    after: str
    ours: str
    broken: str | None


CASES = {
    "same": Case(
        "class S { int f(int i) { return i; } }", "class S { int f(int i) { return i; } }", "new S().f(1);", None
    ),
    "gone": Case(
        "class S {} class T {}",
        "class T {}",
        "Object s = new T() instanceof Object ? new S[1] : null;",
        "class {}S is not there",
    ),
    "constructor": Case(
        "class S { S(boolean b) {} }",
        "class S { S(boolean b, int[] i) {} }",
        "new S(true);",
        "{}S(boolean) is not there, but (boolean, int[])",
    ),
    "inherited_constructor": Case(
        "class P { P(int i) {} P() {} } class S extends P { S(int i) {} }",
        "class P { P(int i) {} P() {} } class S extends P { S() {} }",
        "new S(1);",
        "{}S(int) is not there, but ()",
    ),
    "result": Case(
        "class S { Long f() { return 1L; } }",
        "class S { String f() { return null; } }",
        "new S().f();",
        "{}S.f(): Long is not there, but (): String",
    ),
    "field": Case("class S { int f; }", "class S { void f() {} }", "new S().f = 1;", "{}S.f: int is not there"),
    "moved_up": Case(
        "class P {} class S extends P { void f() {} }",
        "class P { void f() {} } class S extends P {}",
        "new S().f();",
        None,
    ),
    "default_method": Case(
        "interface I { void f(); } abstract class S implements I {}",
        "interface I { default void f() {} } abstract class S implements I {}",
        "((S) null).f();",
        None,
    ),
    "from_object": Case("class S {}", "class S {}", "new S().hashCode(); new S[1].clone();", None),
    "from_jdk": Case("class S extends Thread {}", "class S extends Thread {}", "new S().isAlive();", None),
    "not_from_jdk": Case(
        "class S implements java.io.Serializable { void f(S s) {} }",
        "class S implements Comparable<S> { public int compareTo(S s) { return 0; } }",
        "new S().f(null);",
        "{}S.f(S) is not there",
    ),
    "private": Case("class S { void f() {} }", "class S { private void f() {} }", "new S().f();", "{}S.f() is private"),
    "interface": Case(
        "class S { static void f() {} }", "interface S { static void f() {} }", "S.f();", "{}S.f() is of an interface"
    ),
    "final_method": Case(
        "class S { void f() {} }",
        "class S { final void f() {} }",
        "} class Sub extends S { void f() {}",
        "{}S.f() is final",
    ),
    "final_class": Case("class S {}", "final class S {}", "} class Sub extends S { void f() {}", "class {}S is final"),
    "abstract_method": Case(
        "interface I {} class S implements I {}",
        "interface I { String f(long[] a); } abstract class S implements I {}",
        "} class Sub extends S { void g() {}",
        "{}I.f(long[]): String is abstract and not implemented",
    ),
    "abstract_of_ours": Case(
        "interface I {}", "interface I { void f(); }", "} abstract class Sub implements I { void g() {}", None
    ),
    "implemented_in_between": Case(
        "interface I {} class S implements I {}",
        "interface I { void f(); } class S implements I { public void f() {} }",
        "} class Sub extends S { void g() {}",
        None,
    ),
    "implemented_by_another_interface": Case(
        "interface I {} interface J extends I {}",
        "interface I { void f(); } interface J extends I { default void f() {} }",
        "} class Sub implements J { void g() {}",
        None,
    ),
    "inherited_by_ours": Case(
        "class S { protected int f; }",
        "class S {}",
        "} class Sub extends S { int g() { return f; }",
        "{}Ours$Sub.f: int is not there",
    ),
}


def compiled(folder: Path, sources: dict[str, str], *class_path: Path) -> Path:
    """A jar in ``folder`` of one file of Java a package, which is named like its public class."""
    public = {package: re.search(r"public class (\w+)", source) for package, source in sources.items()}
    files = {package: folder / package / f"{found[1] if found else 'All'}.java" for package, found in public.items()}
    for package, file in files.items():
        file.parent.mkdir(parents=True)
        file.write_text(f"package {package}; {sources[package]}")
    path = ":".join(map(str, class_path))
    subprocess.run(["javac", "-nowarn", "-d", folder / "classes", "-cp", path, *files.values()], check=True)
    jar = folder / "spark-core_2.13-4.1.9-acme.jar"
    with zipfile.ZipFile(jar, "w") as made:
        for one in (folder / "classes").rglob("*.class"):
            made.write(one, one.relative_to(folder / "classes"))
    return jar


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is broken, by the package that has it."""
    folder = tmp_path_factory.mktemp("links")
    before = compiled(folder / "before", {f"p_{name}": case.before for name, case in CASES.items()})
    compiled(folder / "after", {f"p_{name}": case.after for name, case in CASES.items()})
    ours = compiled(folder / "ours", {f"p_{name}": OURS % case.ours for name, case in CASES.items()}, before)
    with zipfile.ZipFile(ours) as written:
        names = written.namelist()
    assert len(names) >= len(CASES)
    found = check_links(jars_folder(folder / "after"), ours).broken
    return {name: [one.what for one in found if f"p_{name}." in str(one)] for name in CASES}


@pytest.mark.process
@pytest.mark.parametrize("name", CASES)
def test_what_a_change_breaks_is_named_and_nothing_else(name: str, broken: dict[str, list[str]]) -> None:
    expected = CASES[name].broken
    assert broken[name] == ([] if expected is None else [expected.replace("{}", f"p_{name}.")])


@pytest.mark.process
def test_a_spark_without_hadoop_is_not_told_that_hadoop_is_missing(tmp_path: Path) -> None:
    hadoop = compiled(tmp_path / "hadoop", {"org.apache.hadoop.fs": "public class Path {}"})
    source = {"ours": "class Ours { Object path = new org.apache.hadoop.fs.Path(); }"}
    jar = compiled(tmp_path / "ours", source, hadoop)
    assert not check_links(compiled(tmp_path / "spark", {"spark": "class Spark {}"}).parent, jar).broken
    with_hadoop = compiled(tmp_path / "other", {"org.apache.hadoop.conf": "public class Configuration {}"}).parent
    (missing,) = check_links(with_hadoop, jar).broken
    assert str(missing) == "class org.apache.hadoop.fs.Path is not there, for ours.Ours"


@pytest.mark.process
def test_a_folder_without_a_spark_and_a_damaged_jar_are_named(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"no spark-core_\*\.jar"):
        jars_folder(tmp_path)
    (tmp_path / "spark-core_2.13-4.1.9.jar").write_text("no jar")
    (check,) = classes_there(tmp_path)
    assert (check.verdict, "cannot be read" in check.found) == ("failed", True)


@pytest.mark.spark
def test_the_jar_finds_every_class_of_its_own_line_and_names_what_another_line_lacks() -> None:
    version, spark = import_pyspark().__version__, Path(str(import_pyspark().__file__)).parent
    (check,) = classes_there(spark)
    assert check.found.endswith(f"of {carried_jars()['4.1'].name} are in Spark {version}")
    links = check_links(jars_folder(spark), carried_jars()["4.2"])
    assert links.references > 40_000
    (header,) = (one for one in links.broken if "UIUtils$.headerSparkPage(" in one.what)
    assert header.users == ("org.apache.spark.aqeplugin.SparkLineApi",)
