// The loops of penalty_path.hpp, for one level of instructions. Compiled without fused products and
// sums: every level takes the same steps, to the bit.
#include "penalty_path.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

constexpr double TINY = 1e-12;  // curvature between graphs that are alike
constexpr double INFINITE = __builtin_inf();

inline double larger(double a, double b) { return a < b ? b : a; }
inline double smaller(double a, double b) { return b < a ? b : a; }

// Four lanes: wider vectors take longer to find the largest of their own lanes.
constexpr int64_t WIDTH = 4;
typedef double Vector __attribute__((vector_size(WIDTH * sizeof(double))));

// Largest number of a block.
inline double largest_of(const double* block) {
    const auto* own = reinterpret_cast<const Vector*>(block);
    Vector most[2] = {own[0], own[1]};
    for (int64_t v = 2; v < BLOCK / WIDTH; v += 2)
        for (int p = 0; p < 2; ++p) most[p] = most[p] < own[v + p] ? own[v + p] : most[p];
    most[0] = most[0] < most[1] ? most[1] : most[0];
    return larger(larger(most[0][0], most[0][2]), larger(most[0][1], most[0][3]));
}

// Place of the first number that is the largest, and above a limit, which becomes that number; or
// -1. It is looked for in the first block that has it.
int64_t first_largest(const double* values, int64_t n, double& limit) {
    int64_t place = -1;
    for (int64_t first = 0; first < n; first += BLOCK) {
        const double largest = largest_of(values + first);
        if (largest > limit) {
            limit = largest;
            place = first;
        }
    }
    while (place >= 0 && values[place] != limit) ++place;
    return place;
}

// What the pairs of i with coefficients that can fall gain, and the lowest residual of these.
__attribute__((noinline)) double write_gains(const Machine& w, int64_t i) {
    const double* __restrict row = w.gram + i * w.n, * __restrict diagonal = w.diagonal;
    const double* __restrict beta = w.beta, * __restrict lower = w.lower, * __restrict residuals = w.residuals;
    double* __restrict gains = w.gains;
    double* __restrict falls = w.falls;
    const double own = residuals[i], own_diagonal = diagonal[i];
    for (int64_t t = 0; t < w.n; ++t) {
        const double gap = own - residuals[t];
        const double gain = gap * gap / larger(own_diagonal + diagonal[t] - 2 * row[t], TINY);
        gains[t] = ((beta[t] > lower[t]) & (gap > 0)) ? gain : 0.0;
        falls[t] = beta[t] > lower[t] ? -residuals[t] : -INFINITE;
    }
    double highest = -INFINITE;
    for (int64_t first = 0; first < w.n; first += BLOCK)
        highest = larger(highest, largest_of(falls + first));
    return -highest;
}

// Take step (row - other) off the residuals, and write those of coefficients that can rise.
__attribute__((noinline)) void move_residuals(const Machine& w, int64_t i, int64_t j, double step) {
    const double* __restrict row = w.gram + i * w.n, * __restrict other = w.gram + j * w.n;
    const double* __restrict beta = w.beta, * __restrict upper = w.upper;
    double* __restrict residuals = w.residuals, * __restrict rises = w.rises;
    for (int64_t t = 0; t < w.n; ++t) {
        const double residual = residuals[t] - step * (row[t] - other[t]);
        residuals[t] = residual;
        rises[t] = beta[t] < upper[t] ? residual : -INFINITE;
    }
}

// Move weight from coefficient j to i as far as it helps, and keep up the residuals.
void move(const Machine& w, int64_t i, int64_t j) {
    const double curvature = larger(w.diagonal[i] + w.diagonal[j] - 2 * w.gram[i * w.n + j], TINY);
    const double rise = w.upper[i] - w.beta[i], fall = w.beta[j] - w.lower[j];
    const double room = smaller(rise, fall);
    const double best = (w.residuals[i] - w.residuals[j]) / curvature;
    const double step = smaller(best, room);
    // onto a bound exactly, so that rounding cannot leave a coefficient just off it
    w.beta[i] = best >= room && room == rise ? w.upper[i] : w.beta[i] + step;
    w.beta[j] = best >= room && room == fall ? w.lower[j] : w.beta[j] - step;
    move_residuals(w, i, j, step);
}

}  // namespace

bool solve(const Machine& w) {
    *w.highest = *w.lowest = 0.0;
    move_residuals(w, 0, 0, 0.0);
    for (int64_t step = 0; step < w.max_steps; ++step) {
        *w.highest = -INFINITE;
        const int64_t i = first_largest(w.rises, w.n, *w.highest);
        if (i < 0) return true;
        *w.lowest = write_gains(w, i);
        double best = 0.0;
        const int64_t j = first_largest(w.gains, w.n, best);
        if (j < 0 || *w.highest - *w.lowest < w.tol) return true;
        move(w, i, j);
    }
    return false;
}

}  // namespace retgk::RETGK_LEVEL
