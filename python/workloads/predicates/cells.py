"""The cells of the truth table, each a query over two small tables, and its rows by brute force."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from workloads.predicates.conditions import OPERATORS, All, Any, Condition, Equal, Not, Row, Test

JOINS = ("inner", "left", "right", "full", "semi", "anti", "cross", "null-aware anti")
PLACES = ("ON", "WHERE")
SIDES = ("left", "right", "both")
FORMS = ("AND", "OR", "NOT", "EITHER")
COLUMNS = ("key", "other", "partition")
STORES = ("files", "partitions")

Pair = tuple[int | None, int | None]

_VALUES = ("a", "b", None, "c", "d")


def _rows(count: int, stride: int) -> tuple[Row, ...]:
    def row(index: int) -> Row:
        columns = {
            "k": _VALUES[index % 5],
            "v": _VALUES[(index * stride + index // 5) % 5],
            "p": _VALUES[(index // 2 + stride) % 5],
        }
        # Of each column there is one without nulls.
        return {"id": index, **columns, **{f"{name}n": value or "a" for name, value in columns.items()}}

    return tuple(row(index) for index in range(count))


LEFT = _rows(17, 2)
RIGHT = _rows(13, 3)
_NONE: Row = dict.fromkeys(LEFT[0])


@dataclass(frozen=True)
class Cell:
    """One query of the table.

    Attributes:
        form: how the tests are combined; `EITHER` is a test of the left side or another one of the right side.
        store: whether the tables are plain files, or partitioned by the columns `p` and `pn`.
    """

    join: str
    place: str
    side: str
    form: str
    column: str
    nullable: bool
    operator: str
    store: str

    @property
    def name(self) -> str:
        nulls = "with nulls" if self.nullable else "without nulls"
        return (
            f"{self.join} join, {self.place} on {self.side}, {self.form} of {self.operator}, "
            f"{self.column} column {nulls}, {self.store}"
        )

    @property
    def condition(self) -> Condition:
        column = {"key": "k", "other": "v", "partition": "p"}[self.column] + ("" if self.nullable else "n")
        left, right = ((Test(side, column, self.operator, 0), Test(side, column, self.operator, 1)) for side in "lr")
        if self.side == "both":
            both: dict[str, Condition] = {
                "AND": All((left[0], right[1])),
                "OR": Any((All((left[0], right[0])), All((left[1], right[1])))),
                "NOT": Not(All((left[0], right[1]))),
                "EITHER": Any((left[0], right[1])),
            }
            return both[self.form]
        own = left if self.side == "left" else right
        other = Test(own[0].side, "v" if self.nullable else "vn", "<", 0)
        single: dict[str, Condition] = {"AND": All((own[0], other)), "OR": Any(own), "NOT": Not(own[0])}
        return single[self.form]

    @property
    def key(self) -> Equal:
        return Equal("k" if self.nullable else "kn")

    def sql(self) -> str:
        tables = (f"{side}_{self.store} {side}" for side in "lr")
        left, right = tables
        on = f"ON {self.key.sql()}" + (f" AND {self.condition.sql()}" if self.place == "ON" else "")
        where = f" WHERE {self.condition.sql()}" if self.place == "WHERE" else ""
        if self.join == "cross":
            return f"SELECT l.id, r.id FROM {left} CROSS JOIN {right}{where}"
        if self.join in ("semi", "anti"):
            return f"SELECT l.id, NULL FROM {left} LEFT {self.join.upper()} JOIN {right} {on}{where}"
        if self.join == "null-aware anti":
            column = self.key.column
            inner = f" WHERE {self.condition.sql()}" if self.place == "ON" else ""
            outer = f" AND {self.condition.sql()}" if self.place == "WHERE" else ""
            return (
                f"SELECT l.id, NULL FROM {left} WHERE l.{column} NOT IN (SELECT r.{column} FROM {right}{inner}){outer}"
            )
        word = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}[self.join]
        return f"SELECT l.id, r.id FROM {left} {word} {right} {on}{where}"

    def rows(self) -> list[Pair]:
        """The rows by brute force: every pair is tried."""
        return sorted(self._rows(), key=lambda pair: tuple(-1 if value is None else value for value in pair))

    def _rows(self) -> Iterator[Pair]:
        for left, right in self._joined():
            if self.place == "ON" or self.condition.of(left or _NONE, right or _NONE):
                yield (_id(left), _id(right))

    def _joined(self) -> Iterator[tuple[Row | None, Row | None]]:
        if self.join == "null-aware anti":
            yield from ((left, None) for left in LEFT if self._is_in_none(left))
            return
        met = [(left, right) for left, right in product(LEFT, RIGHT) if self._meet(left, right)]
        lonely_left = [(left, None) for left in LEFT if all(left is not other for other, _ in met)]
        lonely_right = [(None, right) for right in RIGHT if all(right is not other for _, other in met)]
        if self.join == "semi":
            yield from ((left, None) for left in LEFT if any(left is other for other, _ in met))
        elif self.join == "anti":
            yield from lonely_left
        else:
            yield from met
            if self.join in ("left", "full"):
                yield from lonely_left
            if self.join in ("right", "full"):
                yield from lonely_right

    def _meet(self, left: Row, right: Row) -> bool:
        if self.join == "cross":
            return True
        on = All((self.key, self.condition)) if self.place == "ON" else self.key
        return on.of(left, right) is True

    def _is_in_none(self, left: Row) -> bool:
        right = [row for row in RIGHT if self.place == "WHERE" or self.condition.of(left, row)]
        # NOT IN is true only if every comparison is false.
        return all(self.key.of(left, row) is False for row in right)


def _id(row: Row | None) -> int | None:
    number = None if row is None else row["id"]
    return number if isinstance(number, int) else None


def cells() -> list[Cell]:
    """Every cell that SQL can say."""
    axes = product(JOINS, PLACES, SIDES, FORMS, COLUMNS, (True, False), OPERATORS, STORES)
    return [cell for cell in (Cell(*axis) for axis in axes) if _can_be_said(cell)]


def sample(every: Sequence[Cell], count: int) -> list[Cell]:
    """About `count` cells, spread over all axes."""
    # A step that shares no factor with the sizes of the axes.
    step = next(step for step in range(-(-len(every) // count), len(every) + 1) if gcd(step, 2 * 3 * 5 * 7) == 1)
    return list(every[::step])


def _can_be_said(cell: Cell) -> bool:
    if cell.form == "EITHER" and cell.side != "both":
        return False
    if cell.column == "partition" and cell.store == "files":
        return False
    if cell.join == "cross":
        return cell.place == "WHERE"
    if cell.join in ("semi", "anti"):
        return cell.place == "ON" or cell.side == "left"
    if cell.join == "null-aware anti":
        return (cell.side == "left") == (cell.place == "WHERE")
    return True
