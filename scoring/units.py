"""SI inside: the one table from written units to SI, and one arithmetic for numbers and columns.

Every quantity of the model is a float64 in seconds, bytes, bytes per second, flop or flop per
second. A `Value` is one number or a column of them (a numpy array, an entry per candidate
layout): the equations are written once, with Python's operators and the five functions below, and
are then both the scalar path that reads like the physics and the vectorised path of the search.
"""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Value: TypeAlias = float | NDArray[np.floating[Any]]  # broadcasts; the unit is in the docstring
Truth: TypeAlias = bool | NDArray[np.bool_]

KILO, MEGA, GIGA, TERA = 1e3, 1e6, 1e9, 1e12
GIB = float(2**30)
MILLI, MICRO = 1e-3, 1e-6
BITS_PER_BYTE = 8.0
MOST_BYTES = 1e18  # of one message: more than any cluster holds
SECONDS_PER_HOUR = 3600.0

# Written unit → how many SI units it is. Bandwidths are one way everywhere.
SI = {
    "GB": GIGA,
    "GiB": GIB,
    "GB/s": GIGA,
    "TB/s": TERA,
    "Gbit/s": GIGA / BITS_PER_BYTE,
    "Tflop/s": TERA,
    "us": MICRO,
    "ms": 1e-3,
}


def maximum(a: Value, b: Value) -> Value:
    """The larger of two values, element by element where either is a column."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.maximum(a, b)
    return max(a, b)


def minimum(a: Value, b: Value) -> Value:
    """The smaller of two values, element by element where either is a column."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.minimum(a, b)
    return min(a, b)


def where(test: Truth, then: Value, otherwise: Value) -> Value:
    """`then` where the test holds, `otherwise` where it does not; both are evaluated."""
    if isinstance(test, np.ndarray):
        return np.where(test, then, otherwise)
    return then if test else otherwise


def same(value: Value) -> Value:
    """The value itself: how a single layout's values spread over its rows."""
    return value


def nowhere(test: Truth) -> bool:
    """True where a test holds for no element, so that what hangs on it need not be computed."""
    return not test.any() if isinstance(test, np.ndarray) else not test


def sqrt(a: Value) -> Value:
    """Square root, of zero or more."""
    return np.sqrt(a) if isinstance(a, np.ndarray) else math.sqrt(a)


def log2(a: Value) -> Value:
    """Binary logarithm, of more than zero."""
    return np.log2(a) if isinstance(a, np.ndarray) else math.log2(a)


def ceil(a: Value) -> Value:
    """The smallest whole number that is not less."""
    return np.ceil(a) if isinstance(a, np.ndarray) else float(math.ceil(a))


def greatest_common_divisor(a: Value, b: int) -> Value:
    """The largest whole number that divides both; `a` holds whole numbers."""
    if isinstance(a, np.ndarray):
        return np.gcd(a.astype(np.int64), b).astype(np.float64)
    return float(math.gcd(int(a), b))


def floor(a: Value) -> Value:
    """The largest whole number that is not more."""
    return np.floor(a) if isinstance(a, np.ndarray) else float(math.floor(a))


def exp(a: Value) -> Value:
    """e to the power of a value."""
    return np.exp(a) if isinstance(a, np.ndarray) else math.exp(a)
