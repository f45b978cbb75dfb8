// Values of the exponential graph kernel exp(-gamma MMD^p), and their mean slopes along lines.
#pragma once

#include <cstdint>

#include "levels.hpp"

namespace retgk {

// values[i, j] = exp(-gamma (norms_x[i] + norms_y[j] - 2 products[i, j])^(p / 2)).
struct Exponentials {
    const double *products, *norms_x, *norms_y;
    int64_t n_rows, n_columns;
    double gamma, p;
    double* values;
};

// A tile on or below the diagonal of a symmetric matrix, whose products on and below the diagonal
// are replaced by values; these are written above the diagonal too.
struct SymmetricTile {
    double* matrix;  // (n, n)
    int64_t n;
    const double* norms;
    double gamma, p;
    int64_t first_row, last_row, first_column, last_column;
};

// Squared distances of one row, norm + norms[j] - 2 products[j], around a median: those from `low`
// to `high` are listed in `found`, those below are added to `n_below`.
struct Bracket {
    const double *products, *norms;
    double norm;
    int64_t n;
    double low, high;
    // work arrays for n numbers and eight more
    double* squared;
    uint8_t* is_inside;
    double* found;
    int64_t* n_below;
};

// Mean slopes along lines, by a rule of nodes and weights on [-1, 1]; line_gradients.py has the
// formulas.
struct Slopes {
    const double *starts, *lengths,
        *squared;  // (n_rows, n_columns), (n_rows,), (n_rows, n_columns)
    int64_t n_rows, n_columns;
    double gamma, p;
    const double *nodes, *weights;
    int64_t n_nodes;
    double* slopes;  // (n_rows, n_columns)
};

}  // namespace retgk

RETGK_DECLARE(void fill_exponentials(const Exponentials& work))
RETGK_DECLARE(void fill_symmetric_tile(const SymmetricTile& work))
RETGK_DECLARE(int64_t list_bracket(const Bracket& work))  // number of those found
RETGK_DECLARE(void fill_slopes(const Slopes& work))
