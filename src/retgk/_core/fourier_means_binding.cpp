// Python's side of fourier_means.hpp.
#include "arrays.hpp"
#include "fourier_means.hpp"

namespace retgk {

namespace {

static_assert(BLOCK_ROOM % WHOLE_STRIPS == 0 && BLOCK_ROOM >= BLOCK_NODES);

Nodes checked(const In<int64_t>& nodes, const In<double>& weights, const In<int64_t>& groups,
              int64_t n_nodes, int64_t n_groups) {
    expect(size(weights) == size(nodes) && size(groups) == size(nodes),
           "nodes, weights and groups differ in length");
    expect_below(nodes, n_nodes, "nodes");
    expect_below(groups, n_groups, "groups");
    return {nodes.data(), weights.data(), groups.data(), size(nodes)};
}

NodeBlocks checked(const In<double, 2>& first, const In<double, 2>& second) {
    expect(size(first) == size(second), "both blocks have a row for every node");
    return {first.data(), second.data(), size(first, 1), size(second, 1)};
}

// A map of some columns, which gives at least so many features.
template <typename T>
FourierMap<T> checked(const In<T, 3>& fourier, int64_t n_columns, int64_t n_features) {
    expect(size(fourier, 1) == 1 + n_columns && size(fourier, 2) == PANEL<T>,
           "fourier has the phases and a frequency for every column, in panels");
    expect(size(fourier) * PANEL<T> >= n_features, "fourier has fewer features than the result");
    return {fourier.data(), size(fourier), size(fourier, 1)};
}

template <typename T>
void joint_means(In<int64_t> nodes, In<double> weights, In<int64_t> groups,
                 In<double, 2> probabilities, In<double, 2> attributes, In<T, 3> fourier,
                 Out<T, 2> out) {
    const NodeBlocks blocks = checked(probabilities, attributes);
    const auto map = checked(fourier, blocks.n_first + blocks.n_second, size(out, 1));
    const int64_t width = map.n_panels * PANEL<T>;
    Aligned<T> points(BLOCK_ROOM * map.n_columns, T(0)), waves(BLOCK_ROOM * width);
    Aligned<double> sums(width);
    RETGK_CHOSEN(fill_joint)
    (JointMeans<T>{checked(nodes, weights, groups, size(probabilities), size(out)), blocks, map,
                   out.data(), size(out, 1), points.data(), waves.data(), sums.data()});
}

template <typename T>
void tensor_means(In<int64_t> nodes, In<double> weights, In<int64_t> groups,
                  In<double, 2> probabilities, In<double, 2> attributes, In<T, 3> fourier_0,
                  In<T, 3> fourier_c, Out<T, 3> out) {
    const NodeBlocks blocks = checked(probabilities, attributes);
    const auto map_0 = checked(fourier_0, blocks.n_first, size(out, 1));
    const auto map_c = checked(fourier_c, blocks.n_second, size(out, 2));
    const int64_t width_0 = map_0.n_panels * PANEL<T>, width_c = map_c.n_panels * PANEL<T>;
    Aligned<T> points_0(BLOCK_ROOM * map_0.n_columns, T(0)),
        points_c(BLOCK_ROOM * map_c.n_columns, T(0));
    Aligned<T> phi_0(BLOCK_ROOM * width_0), phi_c(BLOCK_ROOM * width_c);
    Aligned<double> sums(width_0 * width_c);
    RETGK_CHOSEN(fill_tensor)
    (TensorMeans<T>{checked(nodes, weights, groups, size(probabilities), size(out)), blocks, map_0,
                    map_c, out.data(), size(out, 1), size(out, 2), points_0.data(), points_c.data(),
                    phi_0.data(), phi_c.data(), sums.data()});
}

Turns checked(const In<uint64_t, 2>& keys, const In<double>& shares, int64_t n_nodes,
              Aligned<double>& along, Aligned<double>& across) {
    expect(size(keys) == n_nodes && size(keys, 1) == size(shares),
           "keys has a row for every node, with one for every share");
    return {keys.data(), shares.data(), size(shares), along.data(), across.data()};
}

constexpr int64_t whole_words(int64_t n) {
    return (n + TURNS_PER_WORD - 1) / TURNS_PER_WORD * TURNS_PER_WORD;
}

template <typename T>
void phase_means(In<int64_t> nodes, In<double> weights, In<int64_t> groups, In<uint64_t, 2> keys,
                 In<double> shares, In<double, 2> probabilities, In<double, 2> attributes,
                 In<T, 3> fourier, Out<T, 2> out) {
    const NodeBlocks blocks = checked(probabilities, attributes);
    const auto map = checked(fourier, blocks.n_first + blocks.n_second, (size(out, 1) + 1) / 2);
    const int64_t width = map.n_panels * PANEL<T>;
    Aligned<double> along(whole_words(width)), across(whole_words(width));
    Aligned<T> points(BLOCK_ROOM * map.n_columns, T(0));
    Aligned<T> cosines(BLOCK_ROOM * width), sines(BLOCK_ROOM * width);
    Aligned<double> run_cosines(width), run_sines(width), cosine_sums(width), sine_sums(width);
    RETGK_CHOSEN(fill_phases)
    (PhaseMeans<T>{checked(nodes, weights, groups, size(probabilities), size(out)), blocks,
                   checked(keys, shares, size(probabilities), along, across), map, out.data(),
                   size(out, 1), points.data(), cosines.data(), sines.data(), run_cosines.data(),
                   run_sines.data(), cosine_sums.data(), sine_sums.data()});
}

template <typename T>
void phase_values(int64_t first, int64_t last, In<uint64_t, 2> keys, In<double> shares,
                  In<double, 2> probabilities, In<double, 2> attributes, In<T, 3> fourier,
                  In<T, 2> directions, In<int64_t> graphs, Out<double> values) {
    const NodeBlocks blocks = checked(probabilities, attributes);
    const int64_t n_features = size(directions, 1), n_nodes = size(probabilities);
    const auto map = checked(fourier, blocks.n_first + blocks.n_second, (n_features + 1) / 2);
    expect(0 <= first && last <= n_nodes, "first and last are nodes");
    expect(size(graphs) == n_nodes && size(values) == n_nodes,
           "graphs and values have one for every node");
    expect_below(graphs, size(directions), "graphs");
    const int64_t width = map.n_panels * PANEL<T>;
    Aligned<double> along(whole_words(width)), across(whole_words(width));
    Aligned<T> points(BLOCK_ROOM * map.n_columns, T(0));
    Aligned<T> cosines(BLOCK_ROOM * width), sines(BLOCK_ROOM * width);
    Aligned<double> cosine_direction(width, 0.0), sine_direction(width, 0.0);
    RETGK_CHOSEN(fill_values)
    (PhaseValues<T>{first, last, blocks, checked(keys, shares, n_nodes, along, across), map,
                    directions.data(), graphs.data(), n_features, values.data(), points.data(),
                    cosines.data(), sines.data(), cosine_direction.data(), sine_direction.data()});
}

template <typename T>
void row_dots(In<T, 2> x, In<int64_t> places, In<T, 2> y, In<int64_t> of_row, Out<double> values) {
    expect(size(x, 1) == size(y, 1), "x and y differ in width");
    expect(size(places) == size(x) && size(of_row) == size(x),
           "places and of_row have one for every row of x");
    expect_below(places, size(values), "places");
    expect_below(of_row, size(y), "of_row");
    RETGK_CHOSEN(write_dots)
    (RowDots<T>{x.data(), y.data(), size(x), size(x, 1), places.data(), of_row.data(),
                values.data()});
}

template <typename T>
void define_means(nb::module_& m) {
    define(m, "fill_joint_means", joint_means<T>);
    define(m, "fill_tensor_means", tensor_means<T>);
    define(m, "fill_phase_means", phase_means<T>);
    define(m, "fill_phase_values", phase_values<T>);
    define(m, "write_row_dots", row_dots<T>);
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    m.attr("PANEL_BYTES") = PANEL_BYTES;
    define_means<float>(m);
    define_means<double>(m);
});

}  // namespace retgk
