// Python's side of kernel_values.hpp, and loops that are no hot path: slopes near a peak.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "kernel_values.hpp"

namespace retgk {

namespace {

void exponentials(In<double, 2> products, In<double> norms_x, In<double> norms_y, double gamma,
                  double p, Out<double, 2> values) {
    const int64_t n_rows = size(products), n_columns = size(products, 1);
    expect(size(norms_x) == n_rows && size(norms_y) == n_columns,
           "norms_x and norms_y have one for every row and column of the products");
    expect(size(values) == n_rows && size(values, 1) == n_columns,
           "values has the shape of the products");
    RETGK_CHOSEN(fill_exponentials)
    (Exponentials{products.data(), norms_x.data(), norms_y.data(), n_rows, n_columns, gamma, p,
                  values.data()});
}

void symmetric_tile(Out<double, 2> matrix, In<double> norms, double gamma, double p,
                    int64_t first_row, int64_t last_row, int64_t first_column,
                    int64_t last_column) {
    const int64_t n = size(matrix);
    expect(size(matrix, 1) == n && size(norms) == n, "norms has one for every row of the matrix");
    expect(0 <= first_row && last_row <= n && 0 <= first_column && last_column <= n,
           "rows and columns are those of the matrix");
    RETGK_CHOSEN(fill_symmetric_tile)
    (SymmetricTile{matrix.data(), n, norms.data(), gamma, p, first_row, last_row, first_column,
                   last_column});
}

// 12 nodes are right to 1e-10 for lines this far, in lengths, from the points that they pass, and
// for exponents up to this.
constexpr double NEAR = 0.56, STEEP = 12.0;
// The rule for peaks is for panels of 1 in u, and of so much in the exponent; beyond, values are
// nothing.
constexpr double PANEL_RISE = 4.0, MOST_RISE = 200.0;

struct Rule {
    const double *nodes, *weights;
    int64_t n;
};

bool is_peaked(double start, double length, double square, double gamma, double p) {
    const double outer = std::max(std::abs(start), std::abs(start + length));
    const double squared = square + outer * outer;
    return square < NEAR * length * (NEAR * length) ||
           gamma * (p == 1.0 ? std::sqrt(squared) : std::pow(squared, 0.5 * p)) > STEEP;
}

// Mean slope along a line that passes close to a point: the integral of r^(p - 1) exp(-gamma r^p)
// du with r = gap cosh(u), y = gap sinh(u).
double peaked_slope(double start, double length, double gap, double gamma, double p,
                    const Rule& rule) {
    const double u = std::asinh(start / gap), v = std::asinh((start + length) / gap);
    const double outer = gap * std::max(std::cosh(u), std::cosh(v));
    const double inner = u * v < 0.0 ? gap : gap * std::min(std::cosh(u), std::cosh(v));
    const double rise = std::min(gamma * (std::pow(outer, p) - std::pow(inner, p)), MOST_RISE);
    const int64_t n_panels = static_cast<int64_t>(std::max(v - u, rise / PANEL_RISE)) + 1;
    const double half = 0.5 * (v - u) / static_cast<double>(n_panels);
    double total = 0.0;
    for (int64_t panel = 0; panel < n_panels; ++panel) {
        const double middle = u + static_cast<double>(2 * panel + 1) * half;
        for (int64_t k = 0; k < rule.n; ++k) {
            const double r = gap * std::cosh(middle + half * rule.nodes[k]);
            if (p == 1.0)  // without powers, which take longer than all else
                total += rule.weights[k] * std::exp(-gamma * r);
            else
                total += rule.weights[k] * std::pow(r, p - 1.0) * std::exp(-gamma * std::pow(r, p));
        }
    }
    return -p * gamma * half * total / length;
}

void slopes_along_lines(In<double, 2> starts, In<double> lengths, In<double, 2> squared,
                        double gamma, double p, In<double> nodes, In<double> weights,
                        In<double> panel_nodes, In<double> panel_weights, Out<double, 2> slopes) {
    const int64_t n_rows = size(starts), n_columns = size(starts, 1);
    expect(size(lengths) == n_rows && size(squared) == n_rows && size(squared, 1) == n_columns &&
               size(slopes) == n_rows && size(slopes, 1) == n_columns,
           "starts, lengths, squared and slopes differ in shape");
    expect(size(nodes) == size(weights) && size(panel_nodes) == size(panel_weights),
           "a rule has a weight for every node");
    RETGK_CHOSEN(fill_slopes)
    (Slopes{starts.data(), lengths.data(), squared.data(), n_rows, n_columns, gamma, p,
            nodes.data(), weights.data(), size(nodes), slopes.data()});
    const Rule rule{panel_nodes.data(), panel_weights.data(), size(panel_nodes)};
    for (int64_t g = 0; g < n_rows; ++g) {
        const double length = lengths.data()[g];
        if (length <= 0.0) continue;
        for (int64_t place = g * n_columns; place < (g + 1) * n_columns; ++place) {
            const double start = starts.data()[place], square = squared.data()[place];
            if (is_peaked(start, length, square, gamma, p))
                slopes.data()[place] =
                    peaked_slope(start, length, std::sqrt(square), gamma, p, rule);
        }
    }
}

// Count the squared distances below `low` of some rows of the lower triangle, and list those up to
// `high`.
auto squared_distances_between(In<double, 2> products, In<double> norms, int64_t first,
                               int64_t last, double low, double high) {
    const int64_t n = size(norms);
    expect(size(products) == n && size(products, 1) == n, "norms has one for every row");
    expect(0 <= first && last <= n, "first and last are rows");
    int64_t n_below = 0;
    Aligned<double> squared(last + 8), kept(last + 8);
    Aligned<uint8_t> is_inside(last + 8);
    std::vector<double> found;
    for (int64_t i = first; i < last; ++i) {
        const int64_t n_kept = RETGK_CHOSEN(list_bracket)(
            Bracket{products.data() + i * n, norms.data(), norms.data()[i], i, low, high,
                    squared.data(), is_inside.data(), kept.data(), &n_below});
        found.insert(found.end(), kept.data(), kept.data() + n_kept);
    }
    return std::pair(n_below, to_numpy(std::move(found)));
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "fill_exponentials", exponentials);
    define(m, "fill_symmetric_tile", symmetric_tile);
    define(m, "fill_slopes", slopes_along_lines);
    define(m, "squared_distances_between", squared_distances_between);
});

}  // namespace retgk
