// Sums over columns of the smaller of two counts, where many graphs have the columns; division by
// norms.
#pragma once

#include <cstdint>

#include "levels.hpp"

namespace retgk {

struct Minima {
    int64_t first, last;  // graphs, a row of the result each
    bool is_lower;        // others up to the row's own are enough
    int64_t n_compared, n_others;
    // where the columns that each of these graphs has begin
    const int64_t* ptr;
    const int32_t* columns;
    const double* counts;
    const double* others;  // (columns, n_others)
    double* out;           // (graphs, n_others)
};

// Some values of a row, the parts of its norm, and those of the norms of their columns.
struct NormedRow {
    double* values;
    int64_t n;
    double unit, rest;
    const double *units, *rests;
};

}  // namespace retgk

RETGK_DECLARE(void add_minima(const Minima& work))
RETGK_DECLARE(void divide_by_norms(const NormedRow& row))
