"""
Vector code: the innermost loops, written as instructions for LLVM.

Nearly all time goes into three loops. Each keeps many running sums at once in the registers of the
processor, and numba's compiler, left alone, does not do that: it vectorises the innermost loop
only, and running sums that live in an array go to memory and back at every step.

- `vector_passes`: tiles of kernel values of the exact kernel (used by ``engine/exact/tiles.py`` and
  ``kernels/exponentials.py``).
- `half_power_steps`: sparse matrix times sixteen vectors, for return probabilities (used by
  ``walks/half_powers.py``).
- `panel_products`: small dense products, for embeddings (used by ``engine/embedded``). `cosine`
  stands beside it: plain numba that LLVM vectorises by itself.

`plain` has the same functions as loops that anybody can read. They say what is computed, they are
what runs under ``NUMBA_DISABLE_JIT=1``, and the tests compare every function here with them, to
the last bit. `benchmarks/bench_simd.py` compares their speed with plain numba's:
instructions by hand stay only where they make whole jobs at least 1.3 times as fast. Last measured,
plain numba took 1.7 to 1.9 times as long for Gram matrices of the exact kernel, 3.8 to 4.9 times
for return probabilities, and 1.4 to 3.6 times for embeddings and their products.

How to read it
    A numba *intrinsic* is a Python function that runs while something is compiled. It gets the
    values of its arguments as names in LLVM's language, and appends instructions to the function
    that is being built. A Python ``for`` in it therefore writes its body several times, and
    `registers.loop` writes a loop. `registers.Vector` has the operations on vectors of a fixed
    number of lanes; LLVM splits them into whatever registers the processor has, so that the same
    lines give AVX2, AVX-512 or NEON. Running sums are *allocas*, variables that LLVM moves into
    registers.

What keeps results the same to the bit
    A lane never meets another until a sum over lanes, which is written out as a tree. A sum
    is taken in an order that depends on the points alone. Multiply-adds are ``llvm.fmuladd``: on
    every processor with such an instruction they round once.

How callers are recompiled
    numba compiles these instructions into the function that asks for them, and caches that function
    under its name, the date of *its* file, and the types of its arguments. A change here would
    go unnoticed. So every cached function that Python calls and that contains code of this
    package has a last argument ``simd=SOURCE`` that it never uses: numba takes the value of a
    default argument for a part of the type. `SOURCE` is a hash of all files here; another hash is
    another type, for which nothing is cached.
"""

import hashlib
from importlib.resources import files

__all__ = ["SOURCE"]


def _hash_of_source() -> int:
    """Sixty bits that change with any file of this package; text would slow down every call."""
    total = hashlib.sha256()
    for file in sorted(files(__name__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            total.update(file.name.encode() + file.read_bytes())
    return int(total.hexdigest()[:15], 16)


SOURCE = _hash_of_source()
"""Hash of the source of this package; default of the argument `simd` of compiled functions."""
