// The loops of half_powers.hpp, for one level of instructions.
#include "half_powers.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

// Four lanes: vectors of AVX-512's width were slower on every machine, rows are short.
constexpr int64_t REGISTER = 4;
typedef double Register __attribute__((vector_size(REGISTER * sizeof(double))));

// Up to so many rows, walks reach everything so soon that it is not worth watching.
constexpr int64_t SMALL = 512;

// The rows that walks from the start nodes have reached; sorted, so that sums are taken in one
// order, whichever rows are left out as zero.
struct Reached {
    int64_t* rows;
    bool* is_reached;
    int64_t n;

    void add(int64_t row) {
        if (is_reached[row]) return;
        is_reached[row] = true;
        rows[n++] = row;
    }
    void add_all(int64_t n_rows) {
        for (n = 0; n < n_rows; ++n) rows[n] = n;
    }
    void sort(int64_t n_rows) {
        if (n_rows >= 32 * n) return sort_rows(rows, n);
        n = 0;
        for (int64_t i = 0; i < n_rows; ++i) {
            rows[n] = i;
            n += is_reached[i];
        }
    }
};

// Add the neighbours of the rows that are reached; all rows once there are many.
void add_neighbours(const HalfPowers& w, int64_t first, int64_t n_rows, Reached& reached) {
    if (reached.n == n_rows) return;
    if (4 * reached.n > n_rows) return reached.add_all(n_rows);
    const int64_t n_before = reached.n;
    for (int64_t position = 0; position < n_before; ++position) {
        const int64_t i = first + reached.rows[position];
        for (int64_t entry = w.row_begin[i]; entry < w.row_end[i]; ++entry)
            reached.add(w.columns[entry]);
    }
    reached.sort(n_rows);
}

// y = B x over the rows that are reached, and for the second half of the steps the sums of x y and
// y y over them, which are kept in registers.
template <int N, bool WITH_MOMENTS>
__attribute__((noinline)) void multiply(const HalfPowers& w, int64_t first, const Reached& reached,
                                        const double* __restrict x, double* __restrict y,
                                        double* __restrict moments) {
    const auto* from = reinterpret_cast<const Register*>(x);
    auto* to = reinterpret_cast<Register*>(y);
    Register odd[N] = {}, even[N] = {};
    for (int64_t number = 0; number < reached.n; ++number) {
        const int64_t i = reached.rows[number];
        Register total[N];
        const double own = w.diagonal[first + i];
        for (int r = 0; r < N; ++r) total[r] = own * from[i * N + r];
        for (int64_t entry = w.row_begin[first + i]; entry < w.row_end[first + i]; ++entry) {
            const double value = w.values[entry];
            const Register* other = from + static_cast<int64_t>(w.columns[entry]) * N;
            for (int r = 0; r < N; ++r) total[r] += value * other[r];
        }
        for (int r = 0; r < N; ++r) to[i * N + r] = total[r];
        if (WITH_MOMENTS) {
            for (int r = 0; r < N; ++r) {
                odd[r] += from[i * N + r] * total[r];
                even[r] += total[r] * total[r];
            }
        }
    }
    if (WITH_MOMENTS) {
        auto* out = reinterpret_cast<Register*>(moments);
        for (int r = 0; r < N; ++r) out[r] = odd[r];
        for (int r = 0; r < N; ++r) out[N + r] = even[r];
    }
}

// All steps of a block of start nodes of one graph. Row s - 1 of `found` has step s of all lanes.
template <int N>
void fill_block(const HalfPowers& w, int64_t start, int64_t stop) {
    constexpr int64_t lanes = N * REGISTER;
    const int64_t graph = w.graphs[start], first = w.node_ptr[graph], n_rows = w.n_rows[graph];
    const int64_t n_products = (w.n_steps + 1) / 2;
    double *x = w.x, *y = w.y;
    int64_t own[MAX_LANES];
    Reached reached{w.reached, w.is_reached, 0};
    for (int64_t lane = 0; lane < stop - start; ++lane) {
        own[lane] = w.rows[start + lane] * lanes + lane;
        x[own[lane]] = 1.0;
        reached.add(w.rows[start + lane]);
    }
    if (n_rows <= SMALL) reached.add_all(n_rows);
    for (int64_t h = 0; h < n_products; ++h) {
        add_neighbours(w, first, n_rows, reached);
        double* moments = w.found + 2 * h * lanes;  // steps 2h + 1 and 2h + 2
        if (2 * h + 2 > n_products)
            multiply<N, true>(w, first, reached, x, y, moments);
        else
            multiply<N, false>(w, first, reached, x, y, moments);
        for (int64_t lane = 0; lane < stop - start; ++lane)
            w.found[h * lanes + lane] = y[own[lane]];
        double* swapped = x;
        x = y;
        y = swapped;
    }
    for (int64_t lane = 0; lane < stop - start; ++lane) {
        double* result = w.probabilities + w.targets[start + lane] * w.n_steps;
        for (int64_t step = 0; step < w.n_steps; ++step)
            result[step] = w.found[step * lanes + lane];
    }
    for (int64_t position = 0; position < reached.n; ++position) {
        const int64_t i = reached.rows[position];
        w.is_reached[i] = false;
        for (int64_t place = i * lanes; place < (i + 1) * lanes; ++place) x[place] = y[place] = 0.0;
    }
}

}  // namespace

void fill_half_powers(const HalfPowers& w) {
    for (int64_t start = 0, stop; start < w.n_starts; start = stop) {
        stop = start + 1;
        while (stop < w.n_starts && stop < start + MAX_LANES && w.graphs[stop] == w.graphs[start])
            ++stop;
        // lanes that are not used fill up the last register
        switch ((stop - start + REGISTER - 1) / REGISTER) {
            case 1: fill_block<1>(w, start, stop); break;
            case 2: fill_block<2>(w, start, stop); break;
            case 3: fill_block<3>(w, start, stop); break;
            default: fill_block<4>(w, start, stop);
        }
    }
}

}  // namespace retgk::RETGK_LEVEL
