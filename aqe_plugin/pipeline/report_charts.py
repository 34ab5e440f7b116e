"""Charts as SVG text, without scripts, libraries or external resources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 720, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 8, 14, 34
_COLOURS = ("#4c78a8", "#e4572e", "#9aa5b1")


def bars(title: str, labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], unit: str) -> str:
    """Groups of bars, one group for each label; values may be negative.

    Args:
        series: a name, and a value for each label; at most three.
        unit: what the values are in, for the axis.
    """
    values = [value for _, numbers in series for value in numbers]
    low, high = min([0.0, *values]), max([0.0, *values])
    span = (high - low) or 1.0
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    step = width / max(1, len(labels))
    bar = 0.8 * step / max(1, len(series))

    def y(value: float) -> float:
        return _TOP + height * (high - value) / span

    marks = []
    for at, (name, numbers) in enumerate(series):
        for number, (label, value) in enumerate(zip(labels, numbers, strict=True)):
            x = _LEFT + number * step + 0.1 * step + at * bar
            top, bottom = sorted((y(value), y(0.0)))
            text = f"{label}, {name}: {value:,.4g} {unit}"
            marks.append(
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{max(bar, 0.5):.1f}" height="{bottom - top:.1f}" '
                f'fill="{_COLOURS[at % len(_COLOURS)]}"><title>{escape(text)}</title></rect>'
            )
    every = max(1, len(labels) // 10)
    ticks = [
        _text(_LEFT + number * step + step / 2, _HEIGHT - 18, label, "middle")
        for number, label in enumerate(labels)
        if number % every == 0
    ]
    axis = [_line(_LEFT, y(value), _WIDTH - _RIGHT, y(value)) for value in (low, 0.0, high)]
    numbers_at = [_text(_LEFT - 4, y(value) + 4, f"{value:,.3g}", "end") for value in sorted({low, 0.0, high})]
    names = [
        f'<tspan fill="{_COLOURS[at % len(_COLOURS)]}">{escape(name)}</tspan>' for at, (name, _) in enumerate(series)
    ]
    legend = f'<text x="{_LEFT}" y="{_HEIGHT - 3}">{escape(unit)}: {", ".join(names)}</text>'
    return _svg(title, [*axis, *marks, *ticks, *numbers_at, legend])


def calibration(title: str, points: Sequence[tuple[float, float, int]]) -> str:
    """Predicted (across) against measured (up), both from 0 to 1, with the diagonal of equality.

    Args:
        points: predicted, measured, and a number of joins, which is the point's area.
    """
    side = _HEIGHT - _TOP - _BOTTOM
    most = max((count for _, _, count in points), default=1)

    def place(predicted: float, measured: float) -> tuple[float, float]:
        return _LEFT + side * min(1.0, max(0.0, predicted)), _TOP + side * (1 - min(1.0, max(0.0, measured)))

    marks = []
    for predicted, measured, count in points:
        x, y = place(predicted, measured)
        text = f"predicted {predicted:.3g}, measured {measured:.3g}, {count:,} joins"
        radius = 2 + 8 * (count / most) ** 0.5
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_COLOURS[0]}" fill-opacity="0.7">'
            f"<title>{escape(text)}</title></circle>"
        )
    frame = [_line(*place(0, 0), *place(1, 1)), _line(*place(0, 0), *place(1, 0)), _line(*place(0, 0), *place(0, 1))]
    ticks = [
        *(_text(place(at, 0)[0], _TOP + side + 14, f"{at:g}", "middle") for at in (0, 0.5, 1)),
        *(_text(_LEFT - 4, place(0, at)[1] + 4, f"{at:g}", "end") for at in (0, 0.5, 1)),
        _text(_LEFT, _HEIGHT - 3, "across: predicted pass rate; up: measured", "start"),
    ]
    return _svg(title, [*frame, *marks, *ticks])


def _svg(title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ccd2d9"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
