// Tiles of node-kernel values, summed per graph.
//
// A tile has 144 columns (points) and as many rows as fill 64 bytes, its lanes. It is made in
// passes, each bound by another part of the processor: squared distances (the sums of six columns
// fill all registers), then roots and powers of two, then sums over graphs.
//
// Points lie interleaved so that everything is loaded in order: rows [r][k][lane] and columns
// [g][k][c], with k the coordinate and six columns in a group. Coordinates are scaled such that a
// factor of the kernel is 2^-t, not e^-t: the fractional part of t is then exact.
//
// Squared distances are sums of squared differences, not |x|^2 + |y|^2 - 2 <x, y>, for any number
// of coordinates: subtractions go to other units of the processor than multiply-adds, so that a
// matrix product gained nothing when tried for 780 coordinates, and it would cancel for near
// points.
#pragma once

#include <cstdint>

#include "levels.hpp"

namespace retgk {

constexpr int64_t CHUNK = 144;  // columns of a tile: 9 kB of floats, which fit the first cache
constexpr int64_t GROUP = 6;
constexpr int64_t RUN = 8;  // products that are summed in the precision of the tile, and unbranched
constexpr int64_t LANE_BYTES = 64;
template <typename T>
constexpr int64_t LANES = LANE_BYTES / sizeof(T);

// Kinds of factors of the node kernel. Polynomial ones come after the others.
enum Kind : int64_t { ABSOLUTE, SQUARED, LAPLACIAN, POLYNOMIAL };

template <typename T>
struct ExactTiles {
    // Points of the rows, (n_rows, n_coordinates). Rows LANES r : LANES (r + 1) make tile r, which
    // has the entries row_ptr[r] : row_ptr[r + 1], each with the weights of all lanes in a graph.
    const T* row_points;
    int64_t n_coordinates;
    const int64_t* row_ptr;
    const double* row_weights;
    // Points of the columns. Columns CHUNK t : CHUNK (t + 1) make tile t, which has the runs
    // run_ptr[t] : run_ptr[t + 1], each of up to RUN columns of one graph, positions being within
    // the tile; where it has less, weights are zero. The first graph of a tile and all after it is
    // `lowest`.
    const T* column_points;
    int64_t n_groups;
    const int64_t *run_ptr, *run_graphs, *positions;
    const T* run_weights;
    const int64_t* lowest;
    int64_t n_tiles;
    // factors of the kernel: coordinates factor_ptr[b] : factor_ptr[b + 1] belong to factor b
    const int64_t *factor_ptr, *kinds;
    // (n_factors, n_terms): extra factors, polynomials in the exponents; constants of products
    const double* coefficients;
    int64_t n_terms;
    const int64_t* degrees;
    int64_t n_factors;
    // the rows of this task; the row of the products of every entry; the products
    int64_t start, stop;
    bool is_symmetric;
    const int64_t* numbers;
    double* products;  // (n_products, n_graphs)
    int64_t n_products, n_graphs;
    // work arrays, aligned: rows interleaved, zero at first; tiles; sums over graphs
    T *block, *tile, *squares;
    double* sums;  // (CHUNK / LANES, n_graphs, LANES)
};

}  // namespace retgk

RETGK_DECLARE(void fill_products(const ExactTiles<float>& work))
RETGK_DECLARE(void fill_products(const ExactTiles<double>& work))
