// The loops of count_tiles.hpp, for one level of instructions.
#include "count_tiles.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

// Others are taken a few registers at a time: sums stay there, and what is read of all columns
// stays in the cache for all rows.
constexpr int64_t LANES = RETGK_BYTES / sizeof(double);
constexpr int64_t N = 8;
constexpr int64_t WIDTH = N * LANES;
typedef double Register __attribute__((vector_size(RETGK_BYTES)));

// From an address that is none of a whole register.
Register loaded(const double* from) {
    Register values;
    __builtin_memcpy(&values, from, sizeof values);
    return values;
}

__attribute__((noinline)) void add_tile(const Minima& w, int64_t row, const double* others,
                                        double* out) {
    Register sums[N];
    for (int64_t j = 0; j < N; ++j) sums[j] = loaded(out + j * LANES);
    for (int64_t i = w.ptr[row]; i < w.ptr[row + 1]; ++i) {
        const double* from = others + w.columns[i] * w.n_others;
        const Register own = w.counts[i] - Register{};
        for (int64_t j = 0; j < N; ++j) {
            const Register other = loaded(from + j * LANES);
            sums[j] += own < other ? own : other;
        }
    }
    __builtin_memcpy(out, sums, sizeof sums);
}

void add_rest(const Minima& w, int64_t row, const double* others, int64_t n, double* out) {
    for (int64_t i = w.ptr[row]; i < w.ptr[row + 1]; ++i) {
        const double* from = others + w.columns[i] * w.n_others;
        const double own = w.counts[i];
        for (int64_t j = 0; j < n; ++j) out[j] += own < from[j] ? own : from[j];
    }
}

}  // namespace

void add_minima(const Minima& w) {
    for (int64_t start = 0; start < w.n_compared; start += WIDTH) {
        const int64_t n = w.n_others - start;
        // a tile that the diagonal cuts is filled: what lies above is mirrored later
        for (int64_t g = w.is_lower && start > w.first ? start : w.first; g < w.last; ++g) {
            double* out = w.out + g * w.n_others + start;
            if (n >= WIDTH)
                add_tile(w, g - w.first, w.others + start, out);
            else
                add_rest(w, g - w.first, w.others + start, n, out);
        }
    }
}

void divide_by_norms(const NormedRow& row) {
    double* __restrict values = row.values;
    const double unit = row.unit, rest = row.rest, *units = row.units, *rests = row.rests;
    for (int64_t i = 0; i < row.n; ++i) {
        const double scale = __builtin_sqrt(rest * rests[i]);
        const double value = values[i] * unit * units[i] / scale;
        values[i] = scale > 0 ? value : 0.0;
    }
}

}  // namespace retgk::RETGK_LEVEL
