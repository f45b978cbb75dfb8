// The loops of exact_tiles.hpp, for one level of instructions.
#include "exact_tiles.hpp"

#include "vectors.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

// Interleave rows: lanes stand together.
template <typename T>
void load_block(const ExactTiles<T>& w, int64_t begin, int64_t n_rows) {
    for (int64_t i = 0; i < n_rows; ++i) {
        const T* own = w.row_points + (begin + i) * w.n_coordinates;
        T* block = w.block + i / LANES<T> * LANES<T> * w.n_coordinates + i % LANES<T>;
        for (int64_t k = 0; k < w.n_coordinates; ++k) block[k * LANES<T>] = own[k];
    }
}

// Sum (x_k - y_k)^2, or |x_k - y_k|, over coordinates start to stop - 1, beginning with what the
// tile has, or with zero. The sums of a group of columns stay in registers: those of all lanes, or
// of as many as two registers hold.
template <typename T, bool IS_ABSOLUTE, bool IS_NEW>
__attribute__((noinline)) void add_distances(const ExactTiles<T>& w, int64_t r, int64_t group,
                                             int64_t n_groups, int64_t start, int64_t stop,
                                             T* tile) {
    using Vector = typename Vectors<T>::Vector;
    using Bits = typename Vectors<T>::Bits;
    constexpr int PARTS = LANES<T> / Vectors<T>::LANES, TOGETHER = PARTS < 2 ? PARTS : 2;
    const int64_t dimension = w.n_coordinates;
    const auto* rows = reinterpret_cast<const Vector*>(w.block + r * dimension * LANES<T>);
    for (int64_t g = 0; g < n_groups; ++g) {
        const T* columns = w.column_points + (group + g) * dimension * GROUP;
        auto* out = reinterpret_cast<Vector*>(tile + g * GROUP * LANES<T>);
        for (int part = 0; part < PARTS; part += TOGETHER) {
            Vector total[GROUP][TOGETHER];
            for (int c = 0; c < GROUP; ++c)
                for (int p = 0; p < TOGETHER; ++p)
                    total[c][p] = IS_NEW ? Vector{} : out[c * PARTS + part + p];
            for (int64_t k = start; k < stop; ++k) {
                Vector x[TOGETHER];
                for (int p = 0; p < TOGETHER; ++p) x[p] = rows[k * PARTS + part + p];
                for (int c = 0; c < GROUP; ++c) {
                    const T y = columns[k * GROUP + c];
                    for (int p = 0; p < TOGETHER; ++p) {
                        const Vector d = x[p] - y;
                        if (IS_ABSOLUTE)  // without its sign bit
                            total[c][p] += (Vector)((Bits)d & ~(Bits)(-Vector{}));
                        else
                            total[c][p] += d * d;
                    }
                }
            }
            for (int c = 0; c < GROUP; ++c)
                for (int p = 0; p < TOGETHER; ++p) out[c * PARTS + part + p] = total[c][p];
        }
    }
}

// Take roots of what the tile has, or add roots of squares to it, and turn the sum t into 2^-t.
template <typename T, bool IS_ROOT, bool IS_ADDED, bool IS_LAST>
__attribute__((noinline)) void finish(const T* __restrict squares, T* __restrict tile, int64_t n) {
    const T largest = largest_exponent<T>();
    for (int64_t i = 0; i < n; ++i) {
        T t = IS_ADDED ? squares[i] : tile[i];
        if (IS_ROOT) t = root(t);
        if (IS_ADDED) t = tile[i] + t;
        tile[i] = IS_LAST ? power_of_half(t, largest) : t;
    }
}

// Multiply a tile by a polynomial factor, (<x, y> + constant)^degree, in double.
template <typename T>
void multiply_powers(const ExactTiles<T>& w, int64_t r, int64_t group, int64_t n_groups,
                     int64_t factor) {
    const T* rows = w.block + r * w.n_coordinates * LANES<T>;
    for (int64_t j = 0; j < n_groups * GROUP; ++j) {
        const T* column =
            w.column_points + (group + j / GROUP) * w.n_coordinates * GROUP + j % GROUP;
        T* tile = w.tile + j * LANES<T>;
        const double constant = w.coefficients[factor * w.n_terms];
        double product[LANES<T>];
        for (int lane = 0; lane < LANES<T>; ++lane) product[lane] = constant;
        for (int64_t k = w.factor_ptr[factor]; k < w.factor_ptr[factor + 1]; ++k)
            for (int lane = 0; lane < LANES<T>; ++lane)
                product[lane] += rows[k * LANES<T> + lane] * column[k * GROUP];
        for (int64_t power = 0; power < w.degrees[factor]; ++power)
            for (int lane = 0; lane < LANES<T>; ++lane) tile[lane] *= product[lane];
    }
}

// Multiply a tile by the extra factor of a kernel of distances, a polynomial in its exponent.
template <typename T>
void multiply_series(const ExactTiles<T>& w, int64_t r, int64_t group, int64_t n_groups,
                     int64_t factor) {
    const auto add =
        w.kinds[factor] == ABSOLUTE ? add_distances<T, true, true> : add_distances<T, false, true>;
    add(w, r, group, n_groups, w.factor_ptr[factor], w.factor_ptr[factor + 1], w.squares);
    const double* coefficients = w.coefficients + factor * w.n_terms;
    for (int64_t i = 0; i < n_groups * GROUP * LANES<T>; ++i) {
        const T t = w.kinds[factor] == LAPLACIAN ? root(w.squares[i]) : w.squares[i];
        T value = 0;
        for (int64_t term = w.n_terms; term-- > 0;) value = value * t + T(coefficients[term]);
        w.tile[i] *= value;
    }
}

// Kernel values of some rows with some groups of columns.
template <typename T>
void fill_tile(const ExactTiles<T>& w, int64_t r, int64_t group, int64_t n_groups) {
    const int64_t n = n_groups * GROUP * LANES<T>;
    int64_t n_exponents = 0;
    while (n_exponents < w.n_factors && w.kinds[n_exponents] != POLYNOMIAL) ++n_exponents;
    for (int64_t b = 0; b < n_exponents; ++b) {
        const int64_t start = w.factor_ptr[b], stop = w.factor_ptr[b + 1];
        const bool is_root = w.kinds[b] == LAPLACIAN, is_first = b == 0;
        const bool is_last = b + 1 == n_exponents, is_new = is_first || is_root;
        T* target = is_root && !is_first ? w.squares : w.tile;
        const auto add =
            w.kinds[b] == ABSOLUTE
                ? (is_new ? add_distances<T, true, true> : add_distances<T, true, false>)
                : (is_new ? add_distances<T, false, true> : add_distances<T, false, false>);
        add(w, r, group, n_groups, start, stop, target);
        if (is_root && is_first && is_last) finish<T, true, false, true>(nullptr, w.tile, n);
        if (is_root && is_first && !is_last) finish<T, true, false, false>(nullptr, w.tile, n);
        if (is_root && !is_first && is_last) finish<T, true, true, true>(w.squares, w.tile, n);
        if (is_root && !is_first && !is_last) finish<T, true, true, false>(w.squares, w.tile, n);
        if (!is_root && is_last) finish<T, false, false, true>(nullptr, w.tile, n);
    }
    if (n_exponents == 0)
        for (int64_t i = 0; i < n; ++i) w.tile[i] = 1;
    for (int64_t b = 0; w.n_terms > 1 && b < n_exponents; ++b)
        multiply_series(w, r, group, n_groups, b);
    for (int64_t b = n_exponents; b < w.n_factors; ++b) multiply_powers(w, r, group, n_groups, b);
}

// Add weighted columns of a tile to the sums of their graphs: scale sum_e w_e tile[position_e].
template <typename T>
__attribute__((noinline)) void add_runs(const ExactTiles<T>& w, int64_t r, int64_t t, T scale) {
    using Vector = typename Vectors<T>::Vector;
    using Wide = typename Vectors<T>::Wide;
    constexpr int PARTS = LANES<T> / Vectors<T>::LANES;
    const auto* tile = reinterpret_cast<const Vector*>(w.tile);
    auto* sums = reinterpret_cast<Wide*>(w.sums + r * w.n_graphs * LANES<T>);
    for (int64_t s = w.run_ptr[t]; s < w.run_ptr[t + 1]; ++s) {
        const T* weights = w.run_weights + s * RUN;
        const int64_t* positions = w.positions + s * RUN;
        Vector total[PARTS] = {};
        for (int e = 0; e < RUN; ++e)
            for (int p = 0; p < PARTS; ++p) total[p] += weights[e] * tile[positions[e] * PARTS + p];
        for (int p = 0; p < PARTS; ++p)
            sums[w.run_graphs[s] * PARTS + p] += __builtin_convertvector(total[p] * scale, Wide);
    }
}

// products[target, g] += <weights, sums[r, g]> for all graphs from the lowest on. Lanes are added
// by halves, so that the order is the same for vectors of any width.
template <typename T>
__attribute__((noinline)) void add_dots(const ExactTiles<T>& w, int64_t r, int64_t lowest,
                                        const double* __restrict weights,
                                        double* __restrict products) {
    using Vector = Vectors<double>::Vector;
    using Unaligned = Vectors<double>::Unaligned;
    constexpr int WIDTH = Vectors<double>::LANES, PARTS = LANES<T> / WIDTH;
    Vector weight[PARTS];
    for (int p = 0; p < PARTS; ++p) weight[p] = reinterpret_cast<const Unaligned*>(weights)[p];
    const auto* sums = reinterpret_cast<const Vector*>(w.sums + r * w.n_graphs * LANES<T>);
    for (int64_t g = lowest; g < w.n_graphs; ++g) {
        Vector terms[PARTS];
        for (int p = 0; p < PARTS; ++p) terms[p] = weight[p] * sums[g * PARTS + p];
        for (int half = PARTS / 2; half > 0; half /= 2)
            for (int p = 0; p < half; ++p) terms[p] += terms[p + half];
        double lanes[WIDTH];
        for (int lane = 0; lane < WIDTH; ++lane) lanes[lane] = terms[0][lane];
        for (int half = WIDTH / 2; half > 0; half /= 2)
            for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
        products[g] += lanes[0];
    }
}

template <typename T>
void fill(const ExactTiles<T>& w) {
    const int64_t first_graph = w.lowest[w.is_symmetric ? w.start / CHUNK : 0];
    for (int64_t row = 0; row < w.n_products; ++row)
        for (int64_t g = first_graph; g < w.n_graphs; ++g) w.products[row * w.n_graphs + g] = 0.0;
    for (int64_t begin = w.start; begin < w.stop; begin += CHUNK) {
        const int64_t n_rows = w.stop - begin < CHUNK ? w.stop - begin : CHUNK;
        const int64_t n_row_tiles = (n_rows + LANES<T> - 1) / LANES<T>;
        load_block(w, begin, n_rows);
        const int64_t first = w.is_symmetric ? begin / CHUNK : 0, lowest = w.lowest[first];
        for (int64_t r = 0; r < n_row_tiles; ++r)
            for (int64_t i = lowest * LANES<T>; i < w.n_graphs * LANES<T>; ++i)
                w.sums[r * w.n_graphs * LANES<T> + i] = 0.0;
        for (int64_t t = first; t < w.n_tiles; ++t) {
            const int64_t group = t * (CHUNK / GROUP), left = w.n_groups - group;
            const int64_t n_groups = left < CHUNK / GROUP ? left : CHUNK / GROUP;
            for (int64_t r = 0; r < n_row_tiles; ++r) {
                fill_tile(w, r, group, n_groups);
                add_runs<T>(w, r, t, w.is_symmetric && t == first ? T(0.5) : T(1));
            }
        }
        for (int64_t r = 0; r < n_row_tiles; ++r) {
            const int64_t own = begin / LANES<T> + r;
            for (int64_t s = w.row_ptr[own]; s < w.row_ptr[own + 1]; ++s) {
                const int64_t target = w.numbers[s - w.row_ptr[w.start / LANES<T>]];
                add_dots(w, r, lowest, w.row_weights + s * LANES<T>,
                         w.products + target * w.n_graphs);
            }
        }
    }
}

}  // namespace

void fill_products(const ExactTiles<float>& work) { fill(work); }
void fill_products(const ExactTiles<double>& work) { fill(work); }

}  // namespace retgk::RETGK_LEVEL
