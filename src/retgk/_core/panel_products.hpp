// The one product that all embeddings are made of: a few rows times a panel of columns.
//
// A value is summed over k in order, so it does not depend on its neighbours, on blocks or on
// threads, as it may in BLAS. It runs at the speed of a good BLAS. Everything is in an anonymous
// namespace: a copy for every level of instructions.
#pragma once

#include "panels.hpp"
#include "vectors.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

// Rows whose sums fill the registers. Rows lie interleaved in strips of so many, [k][row].
constexpr int64_t STRIP = WHOLE_STRIPS * RETGK_BYTES / PANEL_BYTES;
constexpr int64_t PARTS = PANEL_BYTES / RETGK_BYTES;  // vectors of a panel's row

template <typename T, int64_t ROWS>
using Sums = typename Vectors<T>::Vector[ROWS][PARTS];

// total[j] = sum_k a[k step + j] panel[k] for k < n, at least one. Sums begin with the first
// product: g++ would write zeros to the stack.
template <typename T, int64_t ROWS>
__attribute__((always_inline)) inline void multiply(const T* __restrict a, int64_t step,
                                                    const T* __restrict panel, int64_t n,
                                                    Sums<T, ROWS>& total) {
    using Unaligned = typename Vectors<T>::Unaligned;
    // not `auto`, which forgets that it is unaligned
    const Unaligned* columns = reinterpret_cast<const Unaligned*>(panel);
    for (int64_t j = 0; j < ROWS; ++j)
        for (int64_t p = 0; p < PARTS; ++p) total[j][p] = a[j] * columns[p];
    for (int64_t k = 1; k < n; ++k) {
        typename Vectors<T>::Vector own[PARTS];
        for (int64_t p = 0; p < PARTS; ++p) own[p] = columns[k * PARTS + p];
        for (int64_t j = 0; j < ROWS; ++j)
            for (int64_t p = 0; p < PARTS; ++p) total[j][p] += a[k * step + j] * own[p];
    }
}

// Where a row begins in strips of n columns; its numbers are STRIP apart.
template <typename T>
inline T* row_in_strips(T* strips, int64_t row, int64_t n) {
    return strips + row / STRIP * STRIP * n + row % STRIP;
}

}  // namespace
}  // namespace retgk::RETGK_LEVEL
