"""Conditions over one row of each side, as SQL and in three-valued logic: `None` is the truth value of a null."""

from collections.abc import Mapping
from dataclasses import dataclass

Row = Mapping[str, str | int | None]
Truth = bool | None

OPERATORS = ("=", "<", "range", "IN", "IS NULL", "LIKE")


@dataclass(frozen=True)
class Test:
    """A test of one column; of the two variants, no row of these tables passes both unless the operator says so."""

    side: str
    column: str
    operator: str
    variant: int

    def sql(self) -> str:
        column = f"{self.side}.{self.column}"
        return {
            "=": (f"{column} = 'b'", f"{column} = 'c'"),
            "<": (f"{column} < 'c'", f"{column} < 'b'"),
            "range": (f"{column} BETWEEN 'b' AND 'c'", f"{column} BETWEEN 'a' AND 'b'"),
            "IN": (f"{column} IN ('a', 'c')", f"{column} IN ('b', 'd')"),
            "IS NULL": (f"{column} IS NULL", f"{column} IS NOT NULL"),
            "LIKE": (f"{column} LIKE 'b%'", f"{column} LIKE 'c%'"),
        }[self.operator][self.variant]

    def of(self, left: Row, right: Row) -> Truth:
        value = (left if self.side == "l" else right)[self.column]
        if self.operator == "IS NULL":
            return (value is None) == (self.variant == 0)
        if not isinstance(value, str):
            return None
        return {
            "=": (value == "b", value == "c"),
            "<": (value < "c", value < "b"),
            "range": ("b" <= value <= "c", "a" <= value <= "b"),
            "IN": (value in ("a", "c"), value in ("b", "d")),
            "LIKE": (value.startswith("b"), value.startswith("c")),
        }[self.operator][self.variant]


@dataclass(frozen=True)
class Equal:
    """The equality of one column of each side."""

    column: str

    def sql(self) -> str:
        return f"l.{self.column} = r.{self.column}"

    def of(self, left: Row, right: Row) -> Truth:
        a, b = left[self.column], right[self.column]
        return None if a is None or b is None else a == b


@dataclass(frozen=True)
class All:
    parts: tuple["Condition", ...]

    def sql(self) -> str:
        return "(" + " AND ".join(part.sql() for part in self.parts) + ")"

    def of(self, left: Row, right: Row) -> Truth:
        truths = [part.of(left, right) for part in self.parts]
        return False if False in truths else None if None in truths else True


@dataclass(frozen=True)
class Any:
    parts: tuple["Condition", ...]

    def sql(self) -> str:
        return "(" + " OR ".join(part.sql() for part in self.parts) + ")"

    def of(self, left: Row, right: Row) -> Truth:
        truths = [part.of(left, right) for part in self.parts]
        return True if True in truths else None if None in truths else False


@dataclass(frozen=True)
class Not:
    part: "Condition"

    def sql(self) -> str:
        return f"NOT {self.part.sql()}" if isinstance(self.part, All | Any) else f"NOT ({self.part.sql()})"

    def of(self, left: Row, right: Row) -> Truth:
        truth = self.part.of(left, right)
        return None if truth is None else not truth


Condition = Test | Equal | All | Any | Not
