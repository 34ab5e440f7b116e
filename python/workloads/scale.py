"""The scale factor that commands take, in the unit of TPC-DS: 1 is about 1 GB of text."""

import argparse
import math


def scale_factor(text: str) -> float:
    """The type of a command's `--sf`.

    Raises:
        ArgumentTypeError: the text is no number above 0.
    """
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not 0 < scale < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no scale factor: give a number above 0 (with make: SF=1)")
    return scale
