// Return probabilities of sparse graphs by half powers, for sixteen start nodes at a time.
//
// B is symmetric, so with x_h = B^h e_i
//
//     B^h(i, i) = x_h(i),   B^(2h-1)(i, i) = <x_(h-1), x_h>,   B^2h(i, i) = <x_h, x_h>:
//
// S steps need S/2 sparse products. The first half of the steps is read off the vectors themselves;
// only the second half takes inner products. The vectors of up to sixteen start nodes lie
// interleaved, so that one entry of B is loaded once for all of them. A lane never meets another: a
// result does not depend on which nodes share a block.
#pragma once

#include <cstdint>

#include "levels.hpp"

namespace retgk {

constexpr int64_t MAX_LANES = 16;

struct HalfPowers {
    // first row and number of rows of the matrix of every graph
    const int64_t *node_ptr, *n_rows;
    // the matrices: diagonal and range of entries of every row, columns within the matrix
    const double* diagonal;
    const int64_t *row_begin, *row_end;
    const int32_t* columns;
    const double* values;
    // start nodes, those of a graph together: graph, row in its matrix, row of the result
    const int64_t *graphs, *rows, *targets;
    int64_t n_starts, n_steps;
    double* probabilities;  // (targets, n_steps)
    // work arrays for the largest matrix, aligned: x, y and is_reached are zero
    double *x, *y, *found;
    int64_t* reached;
    bool* is_reached;
};

void sort_rows(int64_t* rows, int64_t n);

}  // namespace retgk

RETGK_DECLARE(void fill_half_powers(const HalfPowers& work))
