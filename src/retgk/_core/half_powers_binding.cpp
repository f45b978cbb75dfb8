// Python's side of half_powers.hpp, and what walks need beside it.
#include <algorithm>

#include "arrays.hpp"
#include "half_powers.hpp"

namespace retgk {

void sort_rows(int64_t* rows, int64_t n) { std::sort(rows, rows + n); }

namespace {

void half_powers(In<int64_t> node_ptr, In<int64_t> n_rows, In<double> diagonal,
                 In<int64_t> row_begin, In<int64_t> row_end, In<int32_t> columns, In<double> values,
                 In<int64_t> graphs, In<int64_t> rows, In<int64_t> targets,
                 Out<double, 2> probabilities) {
    expect(size(node_ptr) == size(n_rows) + 1, "node_ptr has one number more than n_rows");
    expect(size(row_begin) == size(diagonal) && size(row_end) == size(diagonal) &&
               size(columns) == size(values),
           "the arrays of the matrices differ in length");
    expect(size(rows) == size(graphs) && size(targets) == size(graphs),
           "graphs, rows and targets differ in length");
    expect_below(graphs, size(n_rows), "graphs");
    expect_below(targets, size(probabilities), "targets");
    int64_t largest = 0;
    for (int64_t i = 0; i < size(graphs); ++i) {
        const int64_t n = n_rows.data()[graphs.data()[i]];
        largest = std::max(largest, n);
        expect(rows.data()[i] >= 0 && rows.data()[i] < n, "rows has a number out of range");
    }
    const int64_t n_steps = size(probabilities, 1);
    Aligned<double> x(largest * MAX_LANES, 0.0), y(largest * MAX_LANES, 0.0);
    Aligned<double> found((n_steps + 1) * MAX_LANES);
    Aligned<int64_t> reached(largest);
    Aligned<bool> is_reached(largest, false);
    RETGK_CHOSEN(fill_half_powers)
    (HalfPowers{node_ptr.data(), n_rows.data(), diagonal.data(), row_begin.data(), row_end.data(),
                columns.data(), values.data(), graphs.data(), rows.data(), targets.data(),
                size(graphs), n_steps, probabilities.data(), x.data(), y.data(), found.data(),
                reached.data(), is_reached.data()});
}

// Turn rows of quotients into those of nodes, and copy them to all twins.
void spread_to_twins(In<int64_t> classes, In<int64_t> leaders, In<int32_t> multiplicity,
                     In<double> residual, int64_t first, int64_t last,
                     Out<double, 2> probabilities) {
    expect(size(classes) == size(probabilities) && size(leaders) == size(probabilities),
           "classes and leaders have a number for every row");
    expect(0 <= first && last <= size(probabilities), "first and last are rows");
    const int64_t n_steps = size(probabilities, 1);
    for (int64_t row = first; row < last; ++row) {
        const int64_t leader = leaders.data()[row], own = classes.data()[row];
        double* __restrict result = probabilities.data() + row * n_steps;
        if (leader != row) {
            const double* from = probabilities.data() + leader * n_steps;
            std::copy(from, from + n_steps, result);
            continue;
        }
        const double n_twins = multiplicity.data()[own], share = 1.0 / n_twins;
        double power = 1.0;
        for (int64_t step = 0; step < n_steps; ++step) {
            double value = result[step];
            if (n_twins > 1) {
                power *= residual.data()[own];
                value = value * share + (1.0 - share) * power;
            }
            result[step] = std::min(std::max(value, 0.0), 1.0);
        }
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    m.attr("LANES") = MAX_LANES;
    define(m, "fill_half_powers", half_powers);
    define(m, "spread_to_twins", spread_to_twins);
});

}  // namespace retgk
