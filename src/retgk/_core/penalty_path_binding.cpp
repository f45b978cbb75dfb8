// Python's side of penalty_path.hpp.
#include <algorithm>
#include <limits>

#include "arrays.hpp"
#include "penalty_path.hpp"

namespace retgk {

namespace {

// Mean residual of the coefficients that are off their bounds.
double intercept(const Machine& w) {
    double total = 0.0;
    int64_t n_free = 0;
    for (int64_t t = 0; t < w.n; ++t) {
        if (w.lower[t] < w.beta[t] && w.beta[t] < w.upper[t]) {
            total += w.residuals[t];
            ++n_free;
        }
    }
    return n_free ? total / static_cast<double>(n_free) : (*w.highest + *w.lowest) / 2;
}

void fill_penalty_path(In<double, 2> gram, In<double> signs, In<double> weights,
                       In<double> penalties, double tol, int64_t max_steps,
                       Out<double, 2> coefficients, Out<double> intercepts, Out<bool> converged) {
    const int64_t n = size(signs), n_penalties = size(penalties);
    expect(size(gram) == n && size(gram, 1) == n && size(weights) == n,
           "signs and weights have one for every row of the kernel matrix");
    expect(size(coefficients) == n_penalties && size(coefficients, 1) == n &&
               size(intercepts) == n_penalties && size(converged) == n_penalties,
           "the results have one row for every penalty");
    Aligned<double> diagonal(n), beta(n, 0.0), residuals(n), lower(n), upper(n);
    // what pads a block is never the largest
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    Aligned<double> rises(n + BLOCK, nothing), falls(n + BLOCK, nothing), gains(n + BLOCK, 0.0);
    double highest = 0.0, lowest = 0.0;
    const Machine machine{gram.data(),
                          diagonal.data(),
                          n,
                          tol,
                          max_steps,
                          beta.data(),
                          residuals.data(),
                          lower.data(),
                          upper.data(),
                          rises.data(),
                          falls.data(),
                          gains.data(),
                          &highest,
                          &lowest};
    for (int64_t t = 0; t < n; ++t) {
        diagonal[t] = gram.data()[t * n + t];
        residuals[t] = signs.data()[t];
    }
    for (int64_t c = 0; c < n_penalties; ++c) {
        for (int64_t t = 0; t < n; ++t) {
            const double bound = signs.data()[t] * weights.data()[t] * penalties.data()[c];
            lower[t] = std::min(bound, 0.0);
            upper[t] = std::max(bound, 0.0);
        }
        converged.data()[c] = RETGK_CHOSEN(solve)(machine);
        intercepts.data()[c] = intercept(machine);
        std::copy(beta.data(), beta.data() + n, coefficients.data() + c * n);
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "fill_penalty_path", fill_penalty_path);
});

}  // namespace retgk
