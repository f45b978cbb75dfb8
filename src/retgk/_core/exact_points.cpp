// Loops of the exact kernel over single points: tails, groups of near-equal points and their union,
// and sums over pairs of nodes that are too few for tiles.
//
// A matrix product gives other last bits for other numbers of rows. Here every node is computed for
// itself, and every graph from its own nodes, so that neither depends on what else is asked for.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arrays.hpp"
#include "hashing.hpp"

namespace retgk {
namespace {

// Coordinates of points, row by row.
struct Points {
    const double* data;
    int64_t width;

    explicit Points(const In<double, 2>& array) : data(array.data()), width(size(array, 1)) {}
    const double* operator[](int64_t i) const { return data + i * width; }
};

double squared_distance(const double* x, const double* y, int64_t width) {
    double square = 0.0;
    for (int64_t k = 0; k < width; ++k) square += (x[k] - y[k]) * (x[k] - y[k]);
    return square;
}

void expect_pointers(const In<int64_t>& ptr, int64_t n, const char* message) {
    expect(size(ptr) > 0 && ptr.data()[0] >= 0 && ptr.data()[size(ptr) - 1] <= n, message);
    for (int64_t i = 1; i < size(ptr); ++i)
        expect(ptr.data()[i - 1] <= ptr.data()[i], "first positions must rise");
}

// For every rank, the largest mean over the nodes of a graph of the norm beyond that rank. `tails`
// holds the largest so far.
void add_tails(In<double, 2> rotated, In<int64_t> node_ptr, Out<double> tails) {
    const int64_t width = size(rotated, 1), n_graphs = size(node_ptr) - 1;
    expect(n_graphs >= 0 && size(tails) >= width, "tails has a number for every rank");
    const int64_t* ptr = node_ptr.data();
    expect(ptr[n_graphs] - ptr[0] == size(rotated), "node_ptr and rows differ in number");
    const Points points(rotated);
    Aligned<double> total(width), squares(width);
    double* __restrict sums = total.data();
    double* __restrict beyond = squares.data();
    for (int64_t g = 0; g < n_graphs; ++g) {
        std::fill_n(sums, width, 0.0);
        for (int64_t i = ptr[g] - ptr[0]; i < ptr[g + 1] - ptr[0]; ++i) {
            const double* row = points[i];
            double square = 0.0;
            for (int64_t k = width - 1; k >= 0; --k) beyond[k] = square += row[k] * row[k];
            // apart from the running sum, so that roots are taken several at a time
            for (int64_t k = 0; k < width; ++k) sums[k] += std::sqrt(beyond[k]);
        }
        const double n = static_cast<double>(ptr[g + 1] - ptr[g]);
        for (int64_t k = 0; k < width; ++k)
            tails.data()[k] = std::max(tails.data()[k], sums[k] / n);
    }
}

// The bits of floor(value), with one zero. Written out: std::floor is a call without SSE4.1.
uint64_t box_bits(double value) {
    constexpr double WHOLE = 4503599627370496.0;  // from 2^52 on, numbers have no fraction
    if (-WHOLE < value && value < WHOLE) {
        const int64_t cut = static_cast<int64_t>(value);
        value = static_cast<double>(cut - (static_cast<double>(cut) > value));
    }
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

constexpr int64_t AHEAD = 8;

// Hash labels and boxes of up to AHEAD points, together: a hash is one long chain of steps, in
// which the processor would wait. `point(lane)` is a number of a point, `box(value)` that of its
// box.
template <typename Point, typename Box>
void hash_boxes(const Points& points, const int32_t* labels, int64_t n, Point point, Box box,
                uint64_t* keys) {
    for (int64_t lane = 0; lane < n; ++lane)
        keys[lane] = static_cast<uint64_t>(static_cast<int64_t>(labels[point(lane)]));
    for (int64_t k = 0; k < points.width; ++k)
        for (int64_t lane = 0; lane < n; ++lane)
            keys[lane] = mixed(keys[lane] ^ box_bits(box(points[point(lane)][k])));
}

// Slots of a hash table that is at most half full; a power of two.
int64_t table_size(int64_t n_points) {
    int64_t size = 16;
    while (size < 2 * n_points) size *= 2;
    return size;
}

// For every point of a graph, the first of its label in it that is nearly equal; itself if there is
// none. Points that fall into the same box of a grid are looked up in a hash table. All points of
// one representative lie within half the radius of it, hence within the radius of their mean.
void representatives(In<double, 2> coordinates, In<int32_t> labels, In<int64_t> node_ptr,
                     double radius, Out<int64_t> found) {
    expect(size(labels) == size(coordinates) && size(found) == size(coordinates),
           "labels and found have a number for every point");
    expect_pointers(node_ptr, size(coordinates), "node_ptr ends beyond the points");
    const Points points(coordinates);
    const int64_t *ptr = node_ptr.data(), n_graphs = size(node_ptr) - 1;
    const int32_t* label = labels.data();
    const double per_box = 1.0 / radius, most = 0.25 * radius * radius;
    int64_t largest = 0;
    for (int64_t g = 0; g < n_graphs; ++g) largest = std::max(largest, ptr[g + 1] - ptr[g]);
    Aligned<int64_t> table(table_size(largest));
    uint64_t keys[AHEAD];
    for (int64_t g = 0; g < n_graphs; ++g) {
        const int64_t mask = table_size(ptr[g + 1] - ptr[g]) - 1;
        std::fill_n(table.data(), mask + 1, -1);
        for (int64_t first = ptr[g]; first < ptr[g + 1]; first += AHEAD) {
            const int64_t n = std::min(AHEAD, ptr[g + 1] - first);
            hash_boxes(
                points, label, n, [=](int64_t lane) { return first + lane; },
                [=](double value) { return value * per_box; }, keys);
            for (int64_t lane = 0; lane < n; ++lane)
                __builtin_prefetch(&table[static_cast<int64_t>(keys[lane]) & mask]);
            for (int64_t i = first; i < first + n; ++i) {
                int64_t place = static_cast<int64_t>(keys[i - first]) & mask;
                for (; table[place] >= 0; place = (place + 1) & mask) {
                    const int64_t j = table[place];
                    if (label[i] == label[j] &&
                        squared_distance(points[i], points[j], points.width) <= most)
                        break;
                }
                if (table[place] < 0) table[place] = i;
                found.data()[i] = table[place];
            }
        }
    }
}

// Positions sorted by key, those of equal keys in the order given.
template <typename Key>
void sort_by_key(int64_t n, int64_t n_keys, Key key, const int64_t* from, int64_t* to) {
    std::vector<int64_t> ptr(static_cast<size_t>(n_keys) + 1, 0);
    for (int64_t e = 0; e < n; ++e) ++ptr[static_cast<size_t>(key(e)) + 1];
    for (size_t k = 0; k < static_cast<size_t>(n_keys); ++k) ptr[k + 1] += ptr[k];
    for (int64_t place = 0; place < n; ++place) {
        const int64_t e = from == nullptr ? place : from[place];
        to[ptr[static_cast<size_t>(key(e))]++] = e;
    }
}

// Replace the points of every cell by their weighted mean, and add up weights by graph. The new
// entries, returned as cells, graphs and weights, are sorted by cell and graph.
auto unite(In<double, 2> coordinates, In<int64_t> cells, In<int64_t> entry_points,
           In<int64_t> entry_graphs, In<double> entry_weights, int64_t n_graphs,
           Out<double, 2> means) {
    const int64_t n_entries = size(entry_points), n_cells = size(means);
    const int64_t width = size(coordinates, 1);
    expect(size(cells) == size(coordinates) && size(means, 1) == width,
           "cells has a number for every point, means as many columns");
    expect(size(entry_graphs) == n_entries && size(entry_weights) == n_entries,
           "the arrays of the entries differ in length");
    expect_below(cells, n_cells, "cells");
    expect_below(entry_points, size(coordinates), "entry_points");
    expect_below(entry_graphs, n_graphs, "entry_graphs");
    const Points points(coordinates);
    const int64_t *graph_of = entry_graphs.data(), *point_of = entry_points.data();
    const auto cell_of = [&](int64_t e) { return cells.data()[point_of[e]]; };
    Aligned<int64_t> order(n_entries), by_graph(n_entries);
    const int64_t* from = nullptr;  // entries of nodes are in the order of their graphs
    if (!std::is_sorted(graph_of, graph_of + n_entries)) {
        sort_by_key(
            n_entries, n_graphs, [&](int64_t e) { return graph_of[e]; }, nullptr, by_graph.data());
        from = by_graph.data();
    }
    sort_by_key(n_entries, n_cells, cell_of, from, order.data());
    Aligned<double> totals(n_cells, 0.0);
    std::fill_n(means.data(), n_cells * width, 0.0);
    std::vector<int64_t> new_cells, new_graphs;
    std::vector<double> new_weights;
    for (int64_t place = 0; place < n_entries; ++place) {
        const int64_t e = order[place], cell = cell_of(e);
        const double weight = entry_weights.data()[e];
        const double* __restrict point = points[point_of[e]];
        double* __restrict mean = means.data() + cell * width;
        totals[cell] += weight;
        for (int64_t k = 0; k < width; ++k) mean[k] += weight * point[k];
        if (new_cells.empty() || new_cells.back() != cell || new_graphs.back() != graph_of[e]) {
            new_cells.push_back(cell);
            new_graphs.push_back(graph_of[e]);
            new_weights.push_back(0.0);
        }
        new_weights.back() += weight;
    }
    for (int64_t cell = 0; cell < n_cells; ++cell)
        for (int64_t k = 0; k < width; ++k) means.data()[cell * width + k] /= totals[cell];
    return std::make_tuple(to_numpy(std::move(new_cells)), to_numpy(std::move(new_graphs)),
                           to_numpy(std::move(new_weights)));
}

// Points that are reordered while boxes around them are halved.
struct Boxed {
    double *points, *weights, *limits;
    int64_t* order;
    int64_t width;
    double *low, *high, *mean;

    double* row(int64_t i) const { return points + i * width; }

    // Find the box around points start..stop, and return its widest coordinate.
    int64_t bound(int64_t start, int64_t stop) const {
        std::copy_n(row(start), width, low);
        std::copy_n(row(start), width, high);
        for (int64_t i = start + 1; i < stop; ++i) {
            const double* __restrict own = row(i);
            for (int64_t k = 0; k < width; ++k) {
                low[k] = own[k] < low[k] ? own[k] : low[k];
                high[k] = own[k] > high[k] ? own[k] : high[k];
            }
        }
        int64_t widest = 0;
        for (int64_t k = 1; k < width; ++k)
            if (high[k] - low[k] > high[widest] - low[widest]) widest = k;
        return widest;
    }

    // Whether points start..stop lie within their limits of their weighted mean.
    bool fit(int64_t start, int64_t stop) const {
        double total = 0.0;
        std::fill_n(mean, width, 0.0);
        for (int64_t i = start; i < stop; ++i) {
            total += weights[i];
            for (int64_t k = 0; k < width; ++k) mean[k] += weights[i] * row(i)[k];
        }
        for (int64_t k = 0; k < width; ++k) mean[k] /= total;
        for (int64_t i = start; i < stop; ++i)
            if (squared_distance(row(i), mean, width) > limits[i] * limits[i]) return false;
        return true;
    }

    // Move points with coordinate k up to the middle to the front, and return their end.
    int64_t split(int64_t start, int64_t stop, int64_t k, double middle) const {
        int64_t i = start, j = stop - 1;
        while (i <= j) {
            if (row(i)[k] <= middle) {
                ++i;
                continue;
            }
            std::swap_ranges(row(i), row(i) + width, row(j));
            std::swap(weights[i], weights[j]);
            std::swap(limits[i], limits[j]);
            std::swap(order[i], order[j]);
            --j;
        }
        return i;
    }
};

// Group points so that each is no further from the weighted mean of its group than its limit. Boxes
// are halved across their widest side until they fit; points, weights and limits are reordered on
// the way. Writes the cell of every point, and returns the number of cells.
int64_t cells_within(Out<double, 2> coordinates, Out<double> weights, Out<double> limits,
                     Out<int64_t> cells) {
    const int64_t n = size(coordinates), width = size(coordinates, 1);
    expect(size(weights) == n && size(limits) == n && size(cells) == n && width > 0,
           "weights, limits and cells have a number for every point");
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    Aligned<double> low(width), high(width), mean(width);
    const Boxed boxed{coordinates.data(), weights.data(), limits.data(), order.data(), width,
                      low.data(),         high.data(),    mean.data()};
    double largest = 0.0;
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, 2 * limits.data()[i]);
    std::vector<std::pair<int64_t, int64_t>> stack{{0, n}};
    int64_t n_cells = 0;
    while (!stack.empty()) {
        const auto [start, stop] = stack.back();
        stack.pop_back();
        if (start == stop) continue;
        const int64_t widest = boxed.bound(start, stop);
        const double least = low[widest], most = high[widest], middle = 0.5 * (least + most);
        // neighbouring floats have no middle between them: they count as equal
        const bool is_done =
            least == most || middle == most || (most - least <= largest && boxed.fit(start, stop));
        if (is_done) {
            for (int64_t i = start; i < stop; ++i)
                cells.data()[order[static_cast<size_t>(i)]] = n_cells;
            ++n_cells;
            continue;
        }
        const int64_t cut = boxed.split(start, stop, widest, middle);
        stack.emplace_back(cut, stop);
        stack.emplace_back(start, cut);
    }
    return n_cells;
}

// Hash table of points by their boxes of a grid, for `nearest_in_table`.
auto table_of(In<double, 2> coordinates, In<int32_t> labels, double radius) {
    const int64_t n_points = size(coordinates), mask = table_size(n_points) - 1;
    expect(size(labels) == n_points, "labels has a number for every point");
    const Points points(coordinates);
    std::vector<int64_t> table(static_cast<size_t>(mask) + 1, -1);
    uint64_t keys[AHEAD];
    for (int64_t first = 0; first < n_points; first += AHEAD) {
        const int64_t n = std::min(AHEAD, n_points - first);
        hash_boxes(
            points, labels.data(), n, [=](int64_t lane) { return first + lane; },
            [=](double value) { return value / radius; }, keys);
        for (int64_t lane = 0; lane < n; ++lane) {
            int64_t place = static_cast<int64_t>(keys[lane]) & mask;
            while (table[static_cast<size_t>(place)] >= 0) place = (place + 1) & mask;
            table[static_cast<size_t>(place)] = first + lane;
        }
    }
    return to_numpy(std::move(table));
}

// For each chosen point, the nearest known one of its label and box within a radius, or -1. What is
// found depends on that point and on the table alone.
void nearest_in_table(In<double, 2> coordinates, In<int32_t> labels, In<int64_t> chosen,
                      In<double, 2> known_coordinates, In<int32_t> known_labels, In<int64_t> table,
                      double radius, Out<int64_t> found) {
    const int64_t width = size(coordinates, 1), mask = size(table) - 1;
    expect(size(labels) == size(coordinates) && size(found) == size(coordinates),
           "labels and found have a number for every point");
    expect(size(known_labels) == size(known_coordinates) && size(known_coordinates, 1) == width,
           "known points have labels, and as many columns");
    expect(size(table) == table_size(size(known_labels)), "table is not that of the known points");
    expect_below(chosen, size(coordinates), "chosen");
    const Points points(coordinates), known(known_coordinates);
    const int64_t* slots = table.data();
    uint64_t keys[AHEAD];
    std::fill_n(found.data(), size(found), -1);
    for (int64_t first = 0; first < size(chosen); first += AHEAD) {
        const int64_t n = std::min(AHEAD, size(chosen) - first);
        const int64_t* own = chosen.data() + first;
        hash_boxes(
            points, labels.data(), n, [=](int64_t lane) { return own[lane]; },
            [=](double value) { return value / radius; }, keys);
        for (int64_t lane = 0; lane < n; ++lane)
            __builtin_prefetch(slots + (static_cast<int64_t>(keys[lane]) & mask));
        for (int64_t lane = 0; lane < n; ++lane) {
            const int64_t i = own[lane];
            const int32_t label = labels.data()[i];
            double smallest = radius * radius;
            for (int64_t place = static_cast<int64_t>(keys[lane]) & mask; slots[place] >= 0;
                 place = (place + 1) & mask) {
                const int64_t j = slots[place];
                if (label != known_labels.data()[j]) continue;
                const double square = squared_distance(points[i], known[j], width);
                if (square <= smallest) {
                    found.data()[i] = j;
                    smallest = square;
                }
            }
        }
    }
}

// Coordinates of nodes in a basis, scaled: they are written to the columns from `column` on. To
// column `factor` of `tails` and to `sizes` are added the distances of the nodes from the space of
// the basis and from the mean.
void project(In<double, 2> block, In<double> mean, In<double, 2> basis, double scale,
             Out<double, 2> coordinates, int64_t column, Out<double, 2> tails, int64_t factor,
             Out<double> sizes) {
    const int64_t n = size(block), width = size(basis), rank = size(basis, 1);
    expect(size(block, 1) == width && size(mean) == width, "mean and basis have all features");
    expect(size(coordinates) == n && size(tails) == n && size(sizes) == n,
           "coordinates, tails and sizes have a row for every node");
    expect(0 <= column && column + rank <= size(coordinates, 1), "column is beyond coordinates");
    expect(0 <= factor && factor < size(tails, 1), "factor is beyond tails");
    Aligned<double> work(2 * width + rank + width * rank);
    double* __restrict centred = work.data();
    double* __restrict rest = centred + width;
    double* __restrict kept = rest + width;
    double* __restrict transposed = kept + rank;
    for (int64_t j = 0; j < width; ++j)
        for (int64_t k = 0; k < rank; ++k) transposed[k * width + j] = basis.data()[j * rank + k];
    for (int64_t i = 0; i < n; ++i) {
        const double* row = block.data() + i * width;
        std::fill_n(kept, rank, 0.0);
        double square = 0.0, left = 0.0;
        for (int64_t j = 0; j < width; ++j) {
            const double own = row[j] - mean.data()[j];
            const double* __restrict direction = basis.data() + j * rank;
            centred[j] = rest[j] = own;
            square += own * own;
            for (int64_t k = 0; k < rank; ++k) kept[k] += own * direction[k];
        }
        // not the difference of two squares, which would lose all digits of a small rest; one
        // direction at a time, so that several features are at work at once
        for (int64_t k = 0; k < rank; ++k)
            for (int64_t j = 0; j < width; ++j) rest[j] -= kept[k] * transposed[k * width + j];
        for (int64_t j = 0; j < width; ++j) left += rest[j] * rest[j];
        double* result = coordinates.data() + i * size(coordinates, 1) + column;
        for (int64_t k = 0; k < rank; ++k) result[k] = kept[k] * scale;
        tails.data()[i * size(tails, 1) + factor] += scale * std::sqrt(left);
        sizes.data()[i] += scale * std::sqrt(square);
    }
}

// Factors of the node kernel: their first coordinates, whether roots are taken, coefficients of the
// extra factors in the exponents, or constants of products, whose degrees are not zero.
struct Factors {
    int64_t n;
    const int64_t* ptr;
    const bool* roots;
    const double* coefficients;
    int64_t n_terms;
    const int64_t* degrees;

    Factors(const In<int64_t>& ptr, const In<bool>& roots, const In<double, 2>& coefficients,
            const In<int64_t>& degrees, int64_t width)
        : n(size(roots)),
          ptr(ptr.data()),
          roots(roots.data()),
          coefficients(coefficients.data()),
          n_terms(size(coefficients, 1)),
          degrees(degrees.data()) {
        expect(size(ptr) == n + 1 && size(coefficients) == n && size(degrees) == n,
               "the arrays of the factors differ in length");
        expect_pointers(ptr, width, "factors end beyond the coordinates");
    }

    // Kernel of two nodes, whose coordinates are scaled such that gamma is one.
    double operator()(const double* x, const double* y) const {
        double exponent = 0.0, value = 1.0;
        for (int64_t b = 0; b < n; ++b) {
            if (degrees[b] > 0) {
                double product = coefficients[b * n_terms];
                for (int64_t k = ptr[b]; k < ptr[b + 1]; ++k) product += x[k] * y[k];
                for (int64_t d = 0; d < degrees[b]; ++d) value *= product;
                continue;
            }
            const double square = squared_distance(x + ptr[b], y + ptr[b], ptr[b + 1] - ptr[b]);
            const double t = roots[b] ? std::sqrt(square) : square;
            exponent += t;
            if (n_terms > 1) {
                double factor = 0.0;
                for (int64_t term = n_terms; term-- > 0;)
                    factor = factor * t + coefficients[b * n_terms + term];
                value *= factor;
            }
        }
        return value * std::exp(-exponent);
    }
};

// Nodes of graphs, of which some are looked at. Nodes with a negative label match nothing.
struct LabelledNodes {
    Points points;
    const int32_t* labels;
    const int64_t* node_ptr;

    LabelledNodes(const In<double, 2>& coordinates, const In<int32_t>& labels,
                  const In<int64_t>& node_ptr, const In<int64_t>& graphs)
        : points(coordinates), labels(labels.data()), node_ptr(node_ptr.data()) {
        expect(size(labels) == size(coordinates), "labels has a number for every node");
        expect_below(graphs, size(node_ptr) - 1, "graphs");
        for (int64_t place = 0; place < size(graphs); ++place) {  // not all: calls are many
            const int64_t* own = node_ptr.data() + graphs.data()[place];
            expect(0 <= own[0] && own[0] <= own[1] && own[1] <= size(coordinates),
                   "node_ptr ends beyond the nodes");
        }
    }
};

// <m_G, m_G> of some graphs, by a double loop over their nodes.
void norms_of_graphs(In<double, 2> coordinates, In<int32_t> labels, In<int64_t> node_ptr,
                     In<int64_t> graphs, In<int64_t> ptr, In<bool> roots,
                     In<double, 2> coefficients, In<int64_t> degrees, Out<double> norms) {
    const LabelledNodes nodes(coordinates, labels, node_ptr, graphs);
    const Factors kernel(ptr, roots, coefficients, degrees, nodes.points.width);
    expect(size(norms) == size(node_ptr) - 1, "norms has a number for every graph");
    for (int64_t place = 0; place < size(graphs); ++place) {
        const int64_t g = graphs.data()[place];
        const int64_t start = nodes.node_ptr[g], stop = nodes.node_ptr[g + 1];
        double total = 0.0;
        for (int64_t i = start; i < stop; ++i) {
            if (nodes.labels[i] < 0) continue;
            const double* point = nodes.points[i];
            double own = 0.5 * kernel(point, point);
            for (int64_t j = start; j < i; ++j)
                if (nodes.labels[i] == nodes.labels[j]) own += kernel(point, nodes.points[j]);
            total += own;
        }
        norms.data()[g] = 2.0 * total / static_cast<double>((stop - start) * (stop - start));
    }
}

// Add the weighted <phi(v), m_G> of every node v of some graphs G, by a loop over pairs.
void add_own_products(In<double, 2> coordinates, In<int32_t> labels, In<int64_t> node_ptr,
                      In<int64_t> graphs, In<int64_t> ptr, In<bool> roots,
                      In<double, 2> coefficients, In<int64_t> degrees, double weight,
                      Out<double> products) {
    const LabelledNodes nodes(coordinates, labels, node_ptr, graphs);
    const Factors kernel(ptr, roots, coefficients, degrees, nodes.points.width);
    expect(size(products) == size(coordinates), "products has a number for every node");
    for (int64_t place = 0; place < size(graphs); ++place) {
        const int64_t g = graphs.data()[place];
        const int64_t start = nodes.node_ptr[g], stop = nodes.node_ptr[g + 1];
        const double share = weight / static_cast<double>(stop - start);
        for (int64_t i = start; i < stop; ++i) {
            if (nodes.labels[i] < 0) continue;
            const double* point = nodes.points[i];
            double own = kernel(point, point);
            for (int64_t j = start; j < i; ++j) {
                if (nodes.labels[i] != nodes.labels[j]) continue;
                const double value = kernel(point, nodes.points[j]);
                own += value;
                products.data()[j] += share * value;
            }
            products.data()[i] += share * own;
        }
    }
}

// Entries of rows, which are graphs or nodes: point, label and weight of each. Rows `first` to
// `last` - 1 are looked at.
struct Rows {
    Points points;
    const int64_t *ptr, *entries, *labels;
    const double* weights;

    Rows(const In<double, 2>& coordinates, const In<int64_t>& ptr, const In<int64_t>& entries,
         const In<int64_t>& labels, const In<double>& weights, int64_t first, int64_t last,
         int64_t n_labels)
        : points(coordinates),
          ptr(ptr.data()),
          entries(entries.data()),
          labels(labels.data()),
          weights(weights.data()) {
        expect(size(labels) == size(entries) && size(weights) == size(entries),
               "points, labels and weights of the rows differ in number");
        expect(0 <= first && first <= last && last < size(ptr), "first and last are rows");
        expect(0 <= this->ptr[first] && this->ptr[last] <= size(entries),
               "the rows end beyond their entries");
        bool is_inside = true;
        for (int64_t e = this->ptr[first]; e < this->ptr[last]; ++e)
            is_inside &= 0 <= this->entries[e] && this->entries[e] < size(coordinates) &&
                         0 <= this->labels[e] && this->labels[e] < n_labels;
        expect(is_inside, "a row has a point or a label out of range");
    }
};

// Points sorted by label, and the graphs that each is in: first point of every label, first entry
// of every point, graph and weight of every entry.
struct Columns {
    Points points;
    const int64_t *label_ptr, *entry_ptr, *graphs;
    const double* weights;

    Columns(const In<double, 2>& coordinates, const In<int64_t>& label_ptr,
            const In<int64_t>& entry_ptr, const In<int64_t>& graphs, const In<double>& weights)
        : points(coordinates),
          label_ptr(label_ptr.data()),
          entry_ptr(entry_ptr.data()),
          graphs(graphs.data()),
          weights(weights.data()) {
        expect(size(weights) == size(graphs), "graphs and weights of the columns differ in number");
        expect(size(entry_ptr) == size(coordinates) + 1, "entry_ptr has a number for every point");
        expect(size(label_ptr) > 0 && label_ptr.data()[size(label_ptr) - 1] <= size(coordinates) &&
                   entry_ptr.data()[size(coordinates)] <= size(graphs),
               "labels or points end beyond their arrays");
    }
};

// Add inner products over pairs of points of the same label, for rows `first` to `last` - 1 of the
// matrix. If it is symmetric, only values up to the diagonal are added, and half of the diagonal.
void add_rare_labels(int64_t first, int64_t last, In<double, 2> x, In<int64_t> row_ptr,
                     In<int64_t> row_points, In<int64_t> row_labels, In<double> row_weights,
                     In<double, 2> y, In<int64_t> label_ptr, In<int64_t> entry_ptr,
                     In<int64_t> entry_graphs, In<double> entry_weights, In<int64_t> ptr,
                     In<bool> roots, In<double, 2> coefficients, In<int64_t> degrees,
                     bool is_symmetric, Out<double, 2> gram) {
    const Rows rows(x, row_ptr, row_points, row_labels, row_weights, first, last,
                    size(label_ptr) - 1);
    const Columns columns(y, label_ptr, entry_ptr, entry_graphs, entry_weights);
    const Factors kernel(ptr, roots, coefficients, degrees, rows.points.width);
    expect(size(y, 1) == size(x, 1), "rows and columns differ in coordinates");
    expect(last <= size(gram), "gram has a row for every graph");
    for (int64_t g = first; g < last; ++g) {
        double* __restrict sums = gram.data() + g * size(gram, 1);
        for (int64_t e = rows.ptr[g]; e < rows.ptr[g + 1]; ++e) {
            const double* point = rows.points[rows.entries[e]];
            const int64_t label = rows.labels[e];
            for (int64_t j = columns.label_ptr[label]; j < columns.label_ptr[label + 1]; ++j) {
                const int64_t begin = columns.entry_ptr[j], end = columns.entry_ptr[j + 1];
                if (begin == end || (is_symmetric && columns.graphs[begin] > g)) continue;
                const double value = rows.weights[e] * kernel(point, columns.points[j]);
                for (int64_t f = begin; f < end; ++f) {
                    const int64_t h = columns.graphs[f];
                    if (is_symmetric && h >= g) {
                        if (h == g) sums[g] += 0.5 * value * columns.weights[f];
                        break;
                    }
                    sums[h] += value * columns.weights[f];
                }
            }
        }
    }
}

// Add weighted sums over fitted graphs of the products of nodes `first` to `last` - 1, over rare
// labels. `graphs` is the graph of every node, `weights` has a row of fitted graphs for each.
void add_rare_values(int64_t first, int64_t last, In<double, 2> x, In<int64_t> row_ptr,
                     In<int64_t> row_points, In<int64_t> row_labels, In<double> row_weights,
                     In<double, 2> y, In<int64_t> label_ptr, In<int64_t> entry_ptr,
                     In<int64_t> entry_graphs, In<double> entry_weights, In<int64_t> ptr,
                     In<bool> roots, In<double, 2> coefficients, In<int64_t> degrees,
                     In<int64_t> graphs, In<double, 2> weights, Out<double> values) {
    const Rows rows(x, row_ptr, row_points, row_labels, row_weights, first, last,
                    size(label_ptr) - 1);
    const Columns columns(y, label_ptr, entry_ptr, entry_graphs, entry_weights);
    const Factors kernel(ptr, roots, coefficients, degrees, rows.points.width);
    expect(size(y, 1) == size(x, 1), "rows and columns differ in coordinates");
    expect(last <= size(values) && last <= size(graphs), "values and graphs are of all nodes");
    for (int64_t node = first; node < last; ++node) {
        const int64_t graph = graphs.data()[node];
        expect(0 <= graph && graph < size(weights), "weights has a row for every graph");
        const double* own = weights.data() + graph * size(weights, 1);
        for (int64_t e = rows.ptr[node]; e < rows.ptr[node + 1]; ++e) {
            const double* point = rows.points[rows.entries[e]];
            const int64_t label = rows.labels[e];
            double total = 0.0;
            for (int64_t j = columns.label_ptr[label]; j < columns.label_ptr[label + 1]; ++j) {
                const double value = kernel(point, columns.points[j]);
                for (int64_t f = columns.entry_ptr[j]; f < columns.entry_ptr[j + 1]; ++f)
                    total += value * columns.weights[f] * own[columns.graphs[f]];
            }
            values.data()[node] += rows.weights[e] * total;
        }
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "add_tails", add_tails);
    define(m, "representatives", representatives);
    define(m, "unite", unite);
    define(m, "cells_within", cells_within);
    define(m, "table_of", table_of);
    define(m, "nearest_in_table", nearest_in_table);
    define(m, "project", project);
    define(m, "norms_of_graphs", norms_of_graphs);
    define(m, "add_own_products", add_own_products);
    define(m, "add_rare_labels", add_rare_labels);
    define(m, "add_rare_values", add_rare_values);
});

}  // namespace retgk
