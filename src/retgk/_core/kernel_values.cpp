// The loops of kernel_values.hpp, for one level of instructions.
#include "kernel_values.hpp"

#include "vectors.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

constexpr int64_t ROWS = 8;  // that are mirrored together: as many numbers as a cache line has
constexpr int64_t COLUMNS = 256;
constexpr int64_t STRIDE = COLUMNS + ROWS;  // of rows that do not meet in the cache

// What is raised to the power of p / 2. The flag is known when compiled: loops with a call of pow
// are not vectorised.
enum Power { ROOT, SQUARE, ANY };

Power power_of(double p) { return p == 1.0 ? ROOT : p == 2.0 ? SQUARE : ANY; }

template <Power POWER>
inline double raised(double squared, double p) {
    if (POWER == ROOT) return root(squared);
    if (POWER == SQUARE) return squared;
    return __builtin_pow(squared, 0.5 * p);
}

template <Power POWER>
__attribute__((noinline)) void write_row(const double* __restrict products, double norm,
                                         const double* __restrict norms, int64_t n, double gamma,
                                         double p, double* __restrict values) {
    const double rate = gamma * (1.0 / LOG_2), largest = largest_exponent<double>();
    for (int64_t j = 0; j < n; ++j) {
        const double squared = (norm + norms[j]) - 2.0 * products[j];
        values[j] = rate * raised<POWER>(squared < 0.0 ? 0.0 : squared, p);
    }
    for (int64_t j = 0; j < n; ++j) values[j] = power_of_half(values[j], largest);
}

void write_values(const double* products, double norm, const double* norms, int64_t n, double gamma,
                  double p, double* values) {
    switch (power_of(p)) {
        case ROOT: return write_row<ROOT>(products, norm, norms, n, gamma, p, values);
        case SQUARE: return write_row<SQUARE>(products, norm, norms, n, gamma, p, values);
        default: return write_row<ANY>(products, norm, norms, n, gamma, p, values);
    }
}

// Write a block to its place and, mirrored, above the diagonal.
void write_both(const SymmetricTile& w, const double* block, int64_t top, int64_t bottom,
                int64_t first, int64_t last) {
    for (int64_t i = top; i < bottom; ++i)
        for (int64_t j = first; j < smaller(last, i + 1); ++j)
            w.matrix[i * w.n + j] = block[(i - top) * STRIDE + j - first];
    for (int64_t j = first; j < last; ++j)
        for (int64_t i = top > j ? top : j; i < bottom; ++i)
            w.matrix[j * w.n + i] = block[(i - top) * STRIDE + j - first];
}

// Squared distances, how many are below the bracket, and which are in it.
__attribute__((noinline)) int64_t write_squared(const Bracket& w) {
    const double* __restrict products = w.products, * __restrict norms = w.norms;
    double* __restrict squared = w.squared;
    uint8_t* __restrict is_inside = w.is_inside;
    const double norm = w.norm, low = w.low, high = w.high;
    const int64_t n = w.n;
    for (int64_t j = 0; j < n; ++j) {
        const double value = (norm + norms[j]) - 2.0 * products[j];
        squared[j] = value < 0.0 ? 0.0 : value;
    }
    int64_t n_below = 0;
    for (int64_t j = 0; j < n; ++j) n_below += squared[j] < low;
    for (int64_t j = 0; j < n; ++j) is_inside[j] = (low <= squared[j]) & (squared[j] <= high);
    for (int64_t j = n; j < n + 8; ++j) is_inside[j] = 0;
    return n_below;
}

// Add -weight gamma r^(p - 2) exp(-gamma r^p) of all points at one step of a line.
template <Power POWER>
__attribute__((noinline)) void add_slopes(const double* __restrict starts, double step,
                                          const double* __restrict squared, int64_t n, double gamma,
                                          double p, double weight, double* __restrict exponents,
                                          double* __restrict slopes) {
    const double rate = gamma * (1.0 / LOG_2), largest = largest_exponent<double>();
    for (int64_t j = 0; j < n; ++j) {
        const double y = starts[j] + step;
        exponents[j] = rate * raised<POWER>(squared[j] + y * y, p);
    }
    const double scale = weight * LOG_2;
    for (int64_t j = 0; j < n; ++j) {
        const double y = starts[j] + step, t = exponents[j];
        slopes[j] -= scale * t * power_of_half(t, largest) / (squared[j] + y * y);
    }
}

}  // namespace

void fill_exponentials(const Exponentials& w) {
    for (int64_t i = 0; i < w.n_rows; ++i) {
        for (int64_t first = 0; first < w.n_columns; first += COLUMNS) {
            const int64_t n = smaller(COLUMNS, w.n_columns - first),
                          place = i * w.n_columns + first;
            write_values(w.products + place, w.norms_x[i], w.norms_y + first, n, w.gamma, w.p,
                         w.values + place);
        }
    }
}

void fill_symmetric_tile(const SymmetricTile& w) {
    alignas(64) double block[ROWS * STRIDE];
    for (int64_t top = w.first_row; top < w.last_row; top += ROWS) {
        const int64_t bottom = smaller(top + ROWS, w.last_row),
                      end = smaller(w.last_column, bottom);
        for (int64_t first = w.first_column; first < end; first += COLUMNS) {
            const int64_t last = smaller(first + COLUMNS, end);
            for (int64_t i = top; i < bottom; ++i)
                write_values(w.matrix + i * w.n + first, w.norms[i], w.norms + first, last - first,
                             w.gamma, w.p, block + (i - top) * STRIDE);
            write_both(w, block, top, bottom, first, last);
        }
    }
}

int64_t list_bracket(const Bracket& w) {
    *w.n_below += write_squared(w);
    int64_t n_found = 0;
    for (int64_t first = 0; first < w.n; first += 8) {
        uint64_t flags;
        __builtin_memcpy(&flags, w.is_inside + first, 8);
        if (flags == 0) continue;  // as most are: a bracket is narrow
        for (int64_t j = first; j < first + 8; ++j) {
            w.found[n_found] = w.squared[j];
            n_found += w.is_inside[j];
        }
    }
    return n_found;
}

void fill_slopes(const Slopes& w) {
    alignas(64) double exponents[COLUMNS];
    for (int64_t g = 0; g < w.n_rows; ++g) {
        for (int64_t first = 0; first < w.n_columns; first += COLUMNS) {
            const int64_t n = smaller(COLUMNS, w.n_columns - first),
                          place = g * w.n_columns + first;
            for (int64_t j = 0; j < n; ++j) w.slopes[place + j] = 0.0;
            for (int64_t k = 0; k < w.n_nodes; ++k) {
                const double step = (0.5 + 0.5 * w.nodes[k]) * w.lengths[g];
                const auto add = w.p == 1.0 ? add_slopes<ROOT> : add_slopes<ANY>;
                add(w.starts + place, step, w.squared + place, n, w.gamma, w.p,
                    0.5 * w.p * w.weights[k], exponents, w.slopes + place);
            }
        }
    }
}

}  // namespace retgk::RETGK_LEVEL
