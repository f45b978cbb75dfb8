"""Write a header with the constants of polynomials, exact to the last bit; the build runs it."""

import math
import struct
import sys
from pathlib import Path

POLYNOMIALS = {
    # 2^f on [-1/2, 1/2], lowest power first; float: the minimax polynomial among those that are 1
    # at 0, 1.1e-7 off, rounded; double: Taylor's
    "half_power": {
        "float": [
            1.0,
            0.6931470036506653,
            0.24022242426872253,
            0.05550733581185341,
            0.009671512991189957,
            0.001326472731307149,
        ],
        "double": [math.log(2.0) ** k / math.factorial(k) for k in range(14)],
    },
    # sin(2 pi u) / u in u^2 on [-1/4, 1/4]: minimax, 3e-9 and 9e-17 off before rounding
    "sine": {
        "float": [
            6.2831851600897226565,
            -41.341655031479418784,
            81.601004077356553391,
            -76.549782387613466232,
            39.536706762014835694,
        ],
        "double": [
            6.2831853071795803916,
            -41.341702240395082638,
            81.605249275026291884,
            -76.705859647469673123,
            42.058688305395575059,
            -15.094471616749452933,
            3.8169974295671560615,
            -0.69093588762802366194,
        ],
    },
}


def rounded(value: float, number: str) -> float:
    """Round a value to its type."""
    return struct.unpack("f", struct.pack("f", value))[0] if number == "float" else value


def header() -> str:
    """`Polynomials<float>` and `Polynomials<double>`, in C++."""
    lines = [
        "#pragma once",
        "namespace retgk {",
        f"constexpr double LOG_2 = {math.log(2.0).hex()};",
        "template <typename T>",
        "struct Polynomials;",
    ]
    for number in ("float", "double"):
        lines += ["template <>", f"struct Polynomials<{number}> {{"]
        for name, types in POLYNOMIALS.items():
            values = [rounded(value, number).hex() for value in types[number]]
            written = ", ".join(value + "f" * (number == "float") for value in values)
            lines.append(f"    static constexpr {number} {name}[] = {{{written}}};")
        lines.append("};")
    return "\n".join([*lines, "}  // namespace retgk", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(header())
