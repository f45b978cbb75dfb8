// Small induced subgraphs with labels, up to isomorphism: their counts, and sums over matchings.
//
// A subgraph is known by two words. The first has the labels of its nodes, counted from one, so
// that zero is no node. The second has an entry for each pair of nodes, in the order 01, 02, 12,
// 03, ..: zero without an edge, else the label of the edge counted from one. Its type is known by
// the smallest words over orders of the nodes.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "arrays.hpp"
#include "graphs.hpp"
#include "hashing.hpp"

namespace retgk {

namespace {

constexpr int MOST_NODES = 5;
using Order = std::array<uint8_t, MOST_NODES>;
using Nodes = std::array<int32_t, MOST_NODES>;

struct Bits {
    int node, edge;  // of a label in the words

    uint64_t label(uint64_t word, int place) const {
        return (word >> (node * place)) & ((uint64_t{1} << node) - 1);
    }
    // Where the entry of a pair begins; the second is the larger one.
    int shift(int i, int j) const { return edge * (j * (j - 1) / 2 + i); }
    uint64_t entry(uint64_t word, int i, int j) const {
        return (word >> shift(i, j)) & ((uint64_t{1} << edge) - 1);
    }
};

Bits checked_bits(int node_bits, int edge_bits) {
    expect(0 < node_bits && node_bits < 64 && 0 < edge_bits && edge_bits < 32,
           "words have 1 to 63 bits for a node, 1 to 31 for an edge");
    return {node_bits, edge_bits};
}

// All orders of 0, 1, 2, .. nodes, each list from the rising one on.
const std::array<std::vector<Order>, MOST_NODES + 1>& all_orders() {
    static const auto found = [] {
        std::array<std::vector<Order>, MOST_NODES + 1> lists;
        for (int size = 0; size <= MOST_NODES; ++size) {
            Order order{};
            for (int i = 0; i < size; ++i) order[i] = static_cast<uint8_t>(i);
            do lists[size].push_back(order);
            while (std::next_permutation(order.begin(), order.begin() + size));
        }
        return lists;
    }();
    return found;
}

struct Words {
    uint64_t nodes, pairs;

    bool operator==(const Words& other) const {
        return nodes == other.nodes && pairs == other.pairs;
    }
    bool operator<(const Words& other) const {
        return std::tie(nodes, pairs) < std::tie(other.nodes, other.pairs);
    }
    uint64_t hash() const { return mixed(mixed(nodes) + pairs); }
};

// Labels of nodes and entries of all pairs.
struct Subgraph {
    int size = 0;
    std::array<uint64_t, MOST_NODES> labels{};
    uint64_t edges[MOST_NODES][MOST_NODES]{};

    Subgraph(const Words& words, const Bits& bits) {
        while (size < MOST_NODES && words.nodes >> std::min(bits.node * size, 63) > 0) {
            labels[size] = bits.label(words.nodes, size);
            ++size;
        }
        for (int j = 1; j < size; ++j)
            for (int i = 0; i < j; ++i) edges[i][j] = edges[j][i] = bits.entry(words.pairs, i, j);
    }

    // A key that no order changes: what a node and its neighbours are.
    uint64_t key(int i) const {
        uint64_t around = 0;
        for (int j = 0; j < size; ++j)
            if (edges[i][j] > 0) around += mixed(edges[i][j] + (labels[j] << 32));
        return mixed(around + labels[i]) >> 1;
    }

    Words words(const Order& order, const Bits& bits) const {
        Words found{0, 0};
        for (int j = 0; j < size; ++j) {
            found.nodes |= labels[order[j]] << (bits.node * j);
            for (int i = 0; i < j; ++i)
                found.pairs |= edges[order[i]][order[j]] << bits.shift(i, j);
        }
        return found;
    }
};

struct Type {
    Words words;
    int64_t n_automorphisms;  // orders that have the same words
    int64_t count;            // in the graph at hand
};

// Words as they are met.
struct Met {
    Words words;
    int32_t type;
    Order order;  // the first that has the words of the type
};

// The type of a subgraph, and the order of its nodes that shows it. Nodes are sorted by their keys;
// orders of nodes of the same key alone have to be tried then.
std::pair<Type, Order> type_of(const Words& words, const Bits& bits) {
    const Subgraph subgraph(words, bits);
    std::array<std::pair<uint64_t, uint8_t>, MOST_NODES> nodes;
    for (int i = 0; i < subgraph.size; ++i) {  // five at most: they are inserted
        const std::pair<uint64_t, uint8_t> node{subgraph.key(i), static_cast<uint8_t>(i)};
        int place = i;
        for (; place > 0 && node < nodes[place - 1]; --place) nodes[place] = nodes[place - 1];
        nodes[place] = node;
    }
    Type found{{0, 0}, 0, 0};
    Order first{};
    for (const Order& order : all_orders()[subgraph.size]) {
        bool is_sorted = true;
        Order own{};
        for (int i = 0; i < subgraph.size; ++i) {
            own[i] = nodes[order[i]].second;
            is_sorted &= i == 0 || nodes[order[i - 1]].first <= nodes[order[i]].first;
        }
        if (!is_sorted) continue;
        const Words candidate = subgraph.words(own, bits);
        if (found.n_automorphisms == 0 || candidate < found.words) {
            found = {candidate, 1, 0};
            first = own;
        } else if (candidate == found.words) {
            ++found.n_automorphisms;
        }
    }
    return {found, first};
}

struct How {
    int k;  // most nodes of a subgraph
    Bits bits;
    bool is_connected, is_kept;  // connected subgraphs alone; with the nodes of each
    int64_t most_rows;           // of all tables
};

// Counts the subgraphs of one graph after the other. Sets of nodes are grown from their first node,
// each in one way (Wernicke's ESU).
class TypeCounter {
public:
    TypeCounter(const Graphs& graphs, const In<int32_t>& codes, const In<int32_t>& labels,
                const How& how)
        : graphs_(graphs), codes_(codes), labels_(labels), how_(how) {}

    // Gives how many types the graph has, or -1 if there was no more room.
    int64_t count(int64_t g) {
        const int64_t n = graphs_.n_nodes(g), start = static_cast<int64_t>(kinds.size());
        first_ = graphs_.node_ptr[g];
        is_seen_.assign(n, false);
        fill_dense(n);
        waiting_.resize(how_.k * n);
        has_room_ = true;
        for (root_ = 0; root_ < n && has_room_; ++root_)
            grow(1, static_cast<int32_t>(root_), nullptr, nullptr);
        if (!has_room_) return -1;
        for (auto kind = kinds.begin() + start; kind < kinds.end(); ++kind) {
            counts.push_back(types[*kind].count);
            types[*kind].count = 0;
        }
        return static_cast<int64_t>(kinds.size()) - start;
    }

    std::vector<Type> types;
    std::vector<int64_t> kinds, counts;  // types that every graph has, and how often
    std::vector<int32_t> sets;           // type and nodes of every set

private:
    static constexpr int64_t MOST_DENSE = 1024;

    // Matrix of the entries of all pairs of nodes; none for a large graph.
    void fill_dense(int64_t n) {
        width_ = n <= MOST_DENSE ? n : 0;
        dense_.assign(width_ * width_, 0);
        for (int64_t u = 0; u < width_; ++u)
            for (int64_t i = graphs_.indptr[first_ + u]; i < graphs_.indptr[first_ + u + 1]; ++i)
                dense_[u * width_ + graphs_.indices[i]] = code(i);
    }

    int32_t code(int64_t edge) const { return size(codes_) > 0 ? 1 + codes_.data()[edge] : 1; }

    uint64_t entry(int32_t u, int32_t v) const {
        if (width_ > 0) return dense_[u * width_ + v];
        const int32_t* begin = graphs_.indices + graphs_.indptr[first_ + u];
        const int32_t* end = graphs_.indices + graphs_.indptr[first_ + u + 1];
        const int32_t* at = std::lower_bound(begin, end, v);
        return at < end && *at == v ? code(at - graphs_.indices) : 0;
    }

    // Join a node to those before it, then those that wait and may join next.
    void grow(int size, int32_t node, const int32_t* rest, const int32_t* rest_end) {
        nodes_[size - 1] = node;
        Words words{static_cast<uint64_t>(1 + labels_.data()[first_ + node]), 0};
        if (size > 1) {
            const Words& before = words_[size - 2];
            words.nodes = before.nodes | (words.nodes << (how_.bits.node * (size - 1)));
            words.pairs = before.pairs;
            for (int i = 0; i < size - 1; ++i)
                words.pairs |= entry(node, nodes_[i]) << how_.bits.shift(i, size - 1);
        }
        words_[size - 1] = words;
        add(words, size);
        if (size == how_.k || !has_room_) return;
        // waiting next: those that waited before, and new neighbours
        int32_t* const begin = waiting_.data() + (size - 1) * is_seen_.size();
        int32_t* const known = std::copy(rest, rest_end, begin);
        int32_t* end = known;
        if (how_.is_connected) {
            is_seen_[node] = true;
            for (int64_t i = graphs_.indptr[first_ + node]; i < graphs_.indptr[first_ + node + 1];
                 ++i) {
                const int32_t other = graphs_.indices[i];
                if (other <= root_ || is_seen_[other]) continue;
                is_seen_[other] = true;
                *end++ = other;
            }
        } else if (size == 1) {
            for (int32_t other = node + 1; other < static_cast<int32_t>(is_seen_.size()); ++other)
                *end++ = other;
        }
        for (const int32_t* next = begin; next < end && has_room_; ++next)
            grow(size + 1, *next, next + 1, end);
        for (const int32_t* other = known; other < end; ++other) is_seen_[*other] = false;
    }

    void add(const Words& words, int size) {
        const int64_t number = numbers_of_met_.number(
            words.hash(), [&](int64_t other) { return met_[other].words == words; });
        if (number == static_cast<int64_t>(met_.size())) meet(words);
        const Met& own = met_[number];
        if (types[own.type].count++ == 0) kinds.push_back(own.type);
        if (how_.is_kept) {
            sets.push_back(own.type);
            for (int i = 0; i < how_.k; ++i) sets.push_back(i < size ? nodes_[own.order[i]] : 0);
        }
        const size_t n_sets = sets.size() / (1 + how_.k);
        has_room_ &= static_cast<int64_t>(met_.size() + types.size() + kinds.size() + n_sets) <=
                     how_.most_rows;
    }

    __attribute__((noinline)) void meet(const Words& words) {
        const auto [type, order] = type_of(words, how_.bits);
        const Words& shown = type.words;
        const int64_t number = numbers_of_types_.number(
            shown.hash(), [&](int64_t other) { return types[other].words == shown; });
        if (number == static_cast<int64_t>(types.size())) types.push_back(type);
        met_.push_back({words, static_cast<int32_t>(number), order});
    }

    const Graphs& graphs_;
    const In<int32_t>&codes_, &labels_;
    const How& how_;
    int64_t first_ = 0, root_ = 0, width_ = 0;
    bool has_room_ = true;
    std::vector<int32_t> dense_, waiting_;
    std::vector<uint8_t> is_seen_;
    Nodes nodes_{};
    std::array<Words, MOST_NODES> words_{};
    Numbering numbers_of_met_, numbers_of_types_;
    std::vector<Met> met_;
};

// Count the subgraphs that up to k nodes induce in some graphs, by their type. `codes` are labels
// of edges, none if these are all alike. `sizes` is filled with the number of different types of
// every graph; -1 for a graph at which the tables had no more room, and nothing is returned then.
//
// Gives words of each type and the number of its automorphisms, three numbers a type; types of
// every graph, and how often it has them; type and nodes of every set, 1 + k numbers each, or none.
// Nodes are in an order that gives the words of the type.
auto count_subgraph_types(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                          In<int64_t> indptr, In<int32_t> indices, In<int32_t> codes,
                          In<int32_t> labels, int k, int node_bits, int edge_bits,
                          bool is_connected, bool is_kept, int64_t most_rows, Out<int64_t> sizes) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect(size(codes) == 0 || size(codes) == size(indices), "every edge has a label, or none has");
    expect(size(labels) == size(indptr) - 1 && size(sizes) == size(node_ptr) - 1,
           "every node has a label, and every graph a size");
    expect(1 <= k && k <= MOST_NODES, "subgraphs have 1 to 5 nodes");
    const How how{k, checked_bits(node_bits, edge_bits), is_connected, is_kept, most_rows};
    TypeCounter counter(graphs, codes, labels, how);
    std::vector<int64_t> words;
    for (int64_t g = first_graph; g < last_graph; ++g) {
        sizes.data()[g] = counter.count(g);
        if (sizes.data()[g] >= 0) continue;
        counter.types.clear();
        counter.kinds.clear();
        counter.counts.clear();
        counter.sets.clear();
        break;
    }
    for (const Type& type : counter.types) {
        words.push_back(static_cast<int64_t>(type.words.nodes));
        words.push_back(static_cast<int64_t>(type.words.pairs));
        words.push_back(type.n_automorphisms);
    }
    return std::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(counter.kinds)),
                           to_numpy(std::move(counter.counts)), to_numpy(std::move(counter.sets)));
}

// List the orders of nodes that leave the words of a type as they are, at ptr[t] of `found`. Types
// have their words and the number of such orders; no more are listed.
void fill_automorphisms(In<int64_t, 2> types, int node_bits, int edge_bits, In<int64_t> ptr,
                        Out<int32_t, 2> found) {
    const Bits bits = checked_bits(node_bits, edge_bits);
    expect(size(types, 1) == 3 && size(found, 1) == MOST_NODES && size(ptr) == size(types) + 1 &&
               ptr.data()[size(types)] <= size(found),
           "types have three numbers, orders five");
    for (int64_t t = 0; t < size(types); ++t) {
        const int64_t* own = types.data() + 3 * t;
        const Words words{static_cast<uint64_t>(own[0]), static_cast<uint64_t>(own[1])};
        const Subgraph subgraph(words, bits);
        int64_t at = ptr.data()[t];
        for (const Order& order : all_orders()[subgraph.size]) {
            bool is_same = at < ptr.data()[t + 1];
            for (int j = 0; j < subgraph.size; ++j) {
                is_same &= subgraph.labels[order[j]] == subgraph.labels[j];
                for (int i = 0; i < j; ++i)
                    is_same &= subgraph.edges[order[i]][order[j]] == subgraph.edges[i][j];
            }
            if (is_same) std::copy(order.begin(), order.end(), found.data() + MOST_NODES * at++);
        }
    }
}

// Graphs whose subgraphs are matched: first nodes and first entries of each, the type of every
// entry, which rises, its first subgraph, and nodes of every subgraph; edges with their weights.
struct MatchedGraphs {
    const int64_t *node_ptr, *ptr, *types, *set_ptr;
    const int32_t* nodes;
    int64_t k;
    const int64_t* indptr;
    const int32_t* indices;
    const double* edge_weights;

    // Write the matrix of weights of edges of a graph, zero where there is none.
    void fill_weights(int64_t g, std::vector<double>& weights) const {
        const int64_t first = node_ptr[g], n = node_ptr[g + 1] - first;
        weights.assign(n * n, 0.0);
        for (int64_t u = 0; u < n; ++u)
            for (int64_t i = indptr[first + u]; i < indptr[first + u + 1]; ++i)
                weights[u * n + indices[i]] = edge_weights[i];
    }
};

MatchedGraphs matched_graphs(const In<int64_t>& node_ptr, const In<int64_t>& ptr,
                             const In<int64_t>& types, const In<int64_t>& set_ptr,
                             const In<int32_t, 2>& nodes, const In<int64_t>& indptr,
                             const In<int32_t>& indices, const In<double>& edge_weights,
                             bool has_weights) {
    expect(size(ptr) == size(node_ptr) && ptr.data()[size(ptr) - 1] == size(types) &&
               size(set_ptr) == size(types) + 1 && set_ptr.data()[size(types)] == size(nodes),
           "every graph has entries, every entry has subgraphs");
    const int64_t n_nodes = node_ptr.data()[size(node_ptr) - 1];
    expect(
        !has_weights || (size(indptr) == n_nodes + 1 && size(indices) == indptr.data()[n_nodes] &&
                         size(edge_weights) == size(indices)),
        "every edge has a weight");
    return {node_ptr.data(), ptr.data(),    types.data(),   set_ptr.data(),     nodes.data(),
            size(nodes, 1),  indptr.data(), indices.data(), edge_weights.data()};
}

// Kernel of the nodes of two graphs, and the matrices of weights of their edges.
struct NodePairs {
    const double* kernel;
    int64_t width;  // how far apart its rows lie
    const double *weights, *other_weights;
    int64_t n, m;  // nodes of both
    double bridge;

    double weight(int32_t u, int32_t v) const { return weights[u * n + v]; }
    double other_weight(int32_t u, int32_t v) const { return other_weights[u * m + v]; }
};

// Sum over subgraphs of the products of the kernels of matched nodes.
template <int SIZE>
double sum_of_node_products(const NodePairs& pairs, const Nodes& own, const int32_t* nodes,
                            int64_t k, int64_t n_sets) {
    std::array<const double*, SIZE> rows;
    for (int i = 0; i < SIZE; ++i) rows[i] = pairs.kernel + own[i] * pairs.width;
    double total = 0.0;
    for (int64_t t = 0; t < n_sets; ++t, nodes += k) {
        double value = rows[0][nodes[0]];
        if constexpr (SIZE > 1) value *= rows[1][nodes[1]];
        if constexpr (SIZE == 3) value *= rows[2][nodes[2]];
        if constexpr (SIZE > 3) value *= rows[2][nodes[2]] * rows[3][nodes[3]];
        if constexpr (SIZE == 5) value *= rows[4][nodes[4]];
        total += value;
    }
    return total;
}

// The same, times the bridge kernels of the weights of matched edges.
template <int SIZE>
double sum_of_edge_products(const NodePairs& pairs, const Nodes& own, const int32_t* nodes,
                            int64_t k, int64_t n_sets) {
    double total = 0.0;
    for (int64_t t = 0; t < n_sets; ++t, nodes += k) {
        double value = 1.0;
        for (int j = 0; j < SIZE; ++j) {
            value *= pairs.kernel[own[j] * pairs.width + nodes[j]];
            for (int i = 0; i < j; ++i) {
                const double weight = pairs.weight(own[i], own[j]);
                if (!(weight > 0.0)) continue;
                const double difference = std::abs(weight - pairs.other_weight(nodes[i], nodes[j]));
                value *= std::max(0.0, 1.0 - difference / pairs.bridge);
            }
        }
        total += value;
    }
    return total;
}

using SumOfProducts = double (*)(const NodePairs&, const Nodes&, const int32_t*, int64_t, int64_t);
constexpr SumOfProducts OF_NODES[] = {sum_of_node_products<1>, sum_of_node_products<2>,
                                      sum_of_node_products<3>, sum_of_node_products<4>,
                                      sum_of_node_products<5>};
constexpr SumOfProducts OF_EDGES[] = {sum_of_edge_products<1>, sum_of_edge_products<2>,
                                      sum_of_edge_products<3>, sum_of_edge_products<4>,
                                      sum_of_edge_products<5>};

// Write the sums over matchings of one graph with each of some others. Two subgraphs of the same
// type are matched in as many ways as the type has automorphisms: their nodes are listed in an
// order that shows the type, and one of the two lists is put in other orders.
//
// `kernel` is that of its nodes with all nodes of the others. `size_weights` are those of matchings
// of one node, two nodes and so on; `bridge` is the width of the bridge kernel of weights of edges,
// zero for none. `out` is filled from the place of the first of the others on.
void fill_matchings(In<double, 2> kernel, int64_t graph, In<int64_t> node_ptr, In<int64_t> ptr,
                    In<int64_t> types, In<int64_t> set_ptr, In<int32_t, 2> nodes,
                    In<int64_t> indptr, In<int32_t> indices, In<double> edge_weights,
                    int64_t first_graph, int64_t last_graph, In<int64_t> their_node_ptr,
                    In<int64_t> their_ptr, In<int64_t> their_types, In<int64_t> their_set_ptr,
                    In<int32_t, 2> their_nodes, In<int64_t> their_indptr, In<int32_t> their_indices,
                    In<double> their_edge_weights, In<int64_t> order_ptr, In<int32_t, 2> orders,
                    In<int64_t> size_of_type, In<double> size_weights, double bridge,
                    Out<double> out) {
    const bool has_weights = bridge > 0.0;
    const MatchedGraphs rows = matched_graphs(node_ptr, ptr, types, set_ptr, nodes, indptr, indices,
                                              edge_weights, has_weights);
    const MatchedGraphs columns =
        matched_graphs(their_node_ptr, their_ptr, their_types, their_set_ptr, their_nodes,
                       their_indptr, their_indices, their_edge_weights, has_weights);
    expect(0 <= graph && graph < size(node_ptr) - 1 && 0 <= first_graph &&
               first_graph <= last_graph && last_graph < size(their_node_ptr) &&
               last_graph <= size(out),
           "graph, first and last are graphs");
    const int64_t n = rows.node_ptr[graph + 1] - rows.node_ptr[graph];
    const int64_t base = columns.node_ptr[first_graph], width = size(kernel, 1);
    expect(size(kernel) == n && width == columns.node_ptr[last_graph] - base,
           "every node has a row or a column of the kernel");
    expect(size(order_ptr) == size(size_of_type) + 1 && size(orders, 1) == MOST_NODES &&
               order_ptr.data()[size(size_of_type)] == size(orders),
           "every type has a size and orders of five nodes");
    const int64_t most_nodes = std::min({rows.k, columns.k, size(size_weights)});
    std::vector<double> weights, their_weights;
    if (has_weights) rows.fill_weights(graph, weights);
    for (int64_t h = first_graph; h < last_graph; ++h) {
        const int64_t start = columns.node_ptr[h], m = columns.node_ptr[h + 1] - start;
        if (has_weights) columns.fill_weights(h, their_weights);
        const NodePairs pairs{kernel.data() + start - base,
                              width,
                              weights.data(),
                              their_weights.data(),
                              n,
                              m,
                              bridge};
        double total = 0.0;
        int64_t i = rows.ptr[graph], j = columns.ptr[h];
        while (i < rows.ptr[graph + 1] && j < columns.ptr[h + 1]) {
            const int64_t type = rows.types[i], their_type = columns.types[j];
            if (type == their_type) {
                const int64_t n_nodes = size_of_type.data()[type];
                expect(1 <= n_nodes && n_nodes <= most_nodes, "types have 1 to k nodes");
                const SumOfProducts sum = (has_weights ? OF_EDGES : OF_NODES)[n_nodes - 1];
                const int32_t* theirs = columns.nodes + columns.set_ptr[j] * columns.k;
                const int64_t n_theirs = columns.set_ptr[j + 1] - columns.set_ptr[j];
                double found = 0.0;
                for (int64_t s = rows.set_ptr[i]; s < rows.set_ptr[i + 1]; ++s) {
                    for (int64_t o = order_ptr.data()[type]; o < order_ptr.data()[type + 1]; ++o) {
                        Nodes matched{};
                        for (int64_t at = 0; at < n_nodes; ++at)
                            matched[at] =
                                rows.nodes[s * rows.k + orders.data()[MOST_NODES * o + at]];
                        found += sum(pairs, matched, theirs, columns.k, n_theirs);
                    }
                }
                total += size_weights.data()[n_nodes - 1] * found;
            }
            i += type <= their_type;
            j += type >= their_type;
        }
        out.data()[h] = total;
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "count_subgraph_types", count_subgraph_types);
    define(m, "fill_automorphisms", fill_automorphisms);
    define(m, "fill_matchings", fill_matchings);
});

}  // namespace retgk
