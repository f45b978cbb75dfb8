// Merging of twin nodes: what it means is said in walks/twins.py.
//
// Both kinds of twins are found in time linear in the entries: by a hash of the neighbourhood, then
// by comparing it. WEIGHTED says whether edges have weights; else all are one.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "arrays.hpp"
#include "hashing.hpp"

namespace retgk {
namespace {

constexpr int32_t UNSEEN = -1;
constexpr int32_t N_LENGTHS = 32;  // of rows; longer ones are taken together
constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15u;

struct Graphs {
    const int64_t *node_ptr, *indptr;
    const int32_t* indices;
    const double* weights;
    double self_loop;
};

struct Quotients {
    int64_t* n_classes;
    int32_t *class_of, *multiplicity;
    double *residual, *diagonal;
    int64_t *row_begin, *row_end;
    int32_t* columns;
    double* values;
};

int64_t table_size(int64_t n) {
    int64_t size = 4;
    while (size < 2 * n) size *= 2;
    return size;
}

// What is known of the nodes of one graph, with room for the largest.
struct Nodes {
    explicit Nodes(int64_t largest)
        : keys(largest),
          hashed(largest),
          degree(largest),
          loop(largest),
          inner(largest),
          scale(largest),
          twin(largest),
          leaders(largest),
          table(table_size(largest)) {
        for (int64_t i = 0; i < largest; ++i) keys[i] = mixed(static_cast<uint64_t>(i) + GOLDEN);
    }

    Aligned<uint64_t> keys, hashed;
    Aligned<double> degree, loop, inner, scale;
    Aligned<int32_t> twin, leaders, table;
};

// Part of an edge in the hash of a neighbourhood.
template <bool WEIGHTED>
uint64_t edge_hash(const Graphs& g, uint64_t key, int64_t entry) {
    if (!WEIGHTED) return key;
    uint64_t bits;
    std::memcpy(&bits, g.weights + entry, sizeof bits);
    return mixed(key ^ bits);
}

template <bool WEIGHTED>
double weight_of(const Graphs& g, int64_t entry) {
    return WEIGHTED ? g.weights[entry] : 1.0;
}

// Degree, self-loop, and sum of the hashes of the other neighbours, of every node.
template <bool WEIGHTED>
__attribute__((noinline)) void describe(const Graphs& g, int64_t node, int64_t n, Nodes& nodes) {
    const uint64_t* keys = nodes.keys.data();
    for (int64_t i = 0; i < n; ++i) {
        double total = g.self_loop, own = g.self_loop;
        uint64_t value = 0;
        for (int64_t entry = g.indptr[node + i]; entry < g.indptr[node + i + 1]; ++entry) {
            const int64_t j = g.indices[entry];
            const double weight = weight_of<WEIGHTED>(g, entry);
            total += weight;
            if (j == i)
                own += weight;
            else
                value += edge_hash<WEIGHTED>(g, keys[j], entry);
        }
        nodes.degree[i] = total;
        nodes.loop[i] = own;
        nodes.hashed[i] = value;
    }
}

// Whether i and j have the same neighbours and weights, i and j themselves left out.
template <bool WEIGHTED>
bool same_neighbours(const Graphs& g, int64_t node, int64_t i, int64_t j) {
    int64_t a = g.indptr[node + i], b = g.indptr[node + j];
    const int64_t a_end = g.indptr[node + i + 1], b_end = g.indptr[node + j + 1];
    while (true) {
        while (a < a_end && (g.indices[a] == i || g.indices[a] == j)) ++a;
        while (b < b_end && (g.indices[b] == i || g.indices[b] == j)) ++b;
        if (a == a_end || b == b_end) return a == a_end && b == b_end;
        if (g.indices[a] != g.indices[b]) return false;
        if (WEIGHTED && g.weights[a] != g.weights[b]) return false;
        ++a;
        ++b;
    }
}

// Set twin[i] to the first closed twin of i, or UNSEEN, and inner[i] to the weight between.
template <bool WEIGHTED>
__attribute__((noinline)) void find_closed_twins(const Graphs& g, int64_t node, int64_t n,
                                                 Nodes& nodes) {
    for (int64_t i = 0; i < n; ++i) {
        nodes.twin[i] = UNSEEN;
        nodes.inner[i] = 0.0;
        for (int64_t entry = g.indptr[node + i]; entry < g.indptr[node + i + 1]; ++entry) {
            const int64_t j = g.indices[entry];
            if (j >= i) break;  // columns rise; a class is led by its first node
            if (nodes.twin[j] != UNSEEN || nodes.loop[i] != nodes.loop[j]) continue;
            // each is a neighbour of the other, and counts itself instead
            if (nodes.hashed[i] + edge_hash<WEIGHTED>(g, nodes.keys[i], entry) !=
                nodes.hashed[j] + edge_hash<WEIGHTED>(g, nodes.keys[j], entry))
                continue;
            if (!same_neighbours<WEIGHTED>(g, node, i, j)) continue;
            nodes.twin[i] = static_cast<int32_t>(j);
            nodes.inner[i] = nodes.inner[j] = weight_of<WEIGHTED>(g, entry);
            break;
        }
    }
}

// Set twin[i] to the first open twin of i; a node has twins of one kind only.
template <bool WEIGHTED>
__attribute__((noinline)) void find_open_twins(const Graphs& g, int64_t node, int64_t n,
                                               Nodes& nodes) {
    const int64_t size = table_size(n);
    std::fill_n(nodes.table.data(), size, UNSEEN);
    for (int64_t i = 0; i < n; ++i) {
        if (nodes.twin[i] != UNSEEN) continue;
        int64_t slot = static_cast<int64_t>(nodes.hashed[i] & static_cast<uint64_t>(size - 1));
        for (; nodes.table[slot] != UNSEEN; slot = (slot + 1) & (size - 1)) {
            const int32_t j = nodes.table[slot];
            if (nodes.hashed[i] == nodes.hashed[j] && nodes.loop[i] == nodes.loop[j] &&
                same_neighbours<WEIGHTED>(g, node, i, j)) {
                nodes.twin[i] = j;
                break;
            }
        }
        if (nodes.twin[i] == UNSEEN) nodes.table[slot] = static_cast<int32_t>(i);
    }
}

// Number the classes by the length of their rows, list their leaders, return how many there are.
// Rows of one length stand together, so that the processor foresees the end of loops over them.
__attribute__((noinline)) int32_t number_classes(const Graphs& g, int64_t node, int64_t n,
                                                 Nodes& nodes, const Quotients& q) {
    int32_t starts[N_LENGTHS + 1] = {};
    for (int64_t i = 0; i < n; ++i) {
        if (nodes.twin[i] != UNSEEN) continue;
        int32_t length = 0;
        for (int64_t entry = g.indptr[node + i]; entry < g.indptr[node + i + 1]; ++entry)
            length += g.indices[entry] != i && nodes.twin[g.indices[entry]] == UNSEEN;
        length = std::min(length, N_LENGTHS - 1);
        q.class_of[node + i] = length;
        ++starts[length + 1];
    }
    for (int32_t length = 0; length < N_LENGTHS; ++length) starts[length + 1] += starts[length];
    for (int64_t i = 0; i < n; ++i) {
        if (nodes.twin[i] == UNSEEN) {
            const int32_t position = starts[q.class_of[node + i]]++;
            nodes.leaders[position] = static_cast<int32_t>(i);
            q.class_of[node + i] = position;
            q.multiplicity[node + position] = 1;
        } else {
            q.class_of[node + i] = q.class_of[node + nodes.twin[i]];
            ++q.multiplicity[node + q.class_of[node + i]];
        }
    }
    return starts[N_LENGTHS];
}

void write_diagonal(int64_t node, int32_t n_classes, Nodes& nodes, const Quotients& q) {
    for (int32_t c = 0; c < n_classes; ++c) {
        const int32_t i = nodes.leaders[c], n_twins = q.multiplicity[node + c];
        const double degree = nodes.degree[i], loop = nodes.loop[i], inner = nodes.inner[i];
        if (degree > 0.0) {
            q.residual[node + c] = (loop - inner) / degree;
            q.diagonal[node + c] = (loop + (n_twins - 1) * inner) / degree;
        } else {  // an isolated node without a loop has nowhere to go: the walk stays
            q.residual[node + c] = q.diagonal[node + c] = 1.0;
        }
        nodes.scale[i] = std::sqrt(static_cast<double>(n_twins)) / std::sqrt(degree);
    }
}

// Write the rows of the leaders of classes.
template <bool WEIGHTED>
__attribute__((noinline)) void write_rows(const Graphs& g, int64_t node, int32_t n_classes,
                                          Nodes& nodes, const Quotients& q) {
    int64_t written = g.indptr[node];
    for (int32_t c = 0; c < n_classes; ++c) {
        const int32_t i = nodes.leaders[c];
        const double own = nodes.scale[i];
        q.row_begin[node + c] = written;
        for (int64_t entry = g.indptr[node + i]; entry < g.indptr[node + i + 1]; ++entry) {
            const int32_t j = g.indices[entry];
            if (j == i || nodes.twin[j] != UNSEEN) continue;
            const double other = nodes.scale[j];
            q.columns[written] = q.class_of[node + j];
            // in this order nothing overflows, and both directions get the same bits
            q.values[written] =
                (weight_of<WEIGHTED>(g, entry) * std::max(own, other)) * std::min(own, other);
            ++written;
        }
        q.row_end[node + c] = written;
    }
}

template <bool WEIGHTED>
void merge_graphs(const Graphs& g, int64_t first, int64_t last, const Quotients& q) {
    int64_t largest = 0;
    for (int64_t graph = first; graph < last; ++graph)
        largest = std::max(largest, g.node_ptr[graph + 1] - g.node_ptr[graph]);
    Nodes nodes(largest);
    for (int64_t graph = first; graph < last; ++graph) {
        const int64_t node = g.node_ptr[graph], n = g.node_ptr[graph + 1] - node;
        describe<WEIGHTED>(g, node, n, nodes);
        find_closed_twins<WEIGHTED>(g, node, n, nodes);
        find_open_twins<WEIGHTED>(g, node, n, nodes);
        const int32_t n_classes = number_classes(g, node, n, nodes, q);
        q.n_classes[graph] = n_classes;
        write_diagonal(node, n_classes, nodes, q);
        write_rows<WEIGHTED>(g, node, n_classes, nodes, q);
    }
}

// Merge the twins of graphs `first` to `last` - 1, and write their quotients.
void merge_twins(In<int64_t> node_ptr, In<int64_t> indptr, In<int32_t> indices, In<double> weights,
                 double self_loop, int64_t first, int64_t last, Out<int64_t> n_classes,
                 Out<int32_t> class_of, Out<int32_t> multiplicity, Out<double> residual,
                 Out<double> diagonal, Out<int64_t> row_begin, Out<int64_t> row_end,
                 Out<int32_t> columns, Out<double> values) {
    const int64_t n_nodes = size(indptr) - 1, n_entries = size(indices);
    expect(size(node_ptr) == size(n_classes) + 1, "node_ptr has one number more than n_classes");
    expect(0 <= first && first <= last && last <= size(n_classes), "first and last are graphs");
    expect(size(class_of) == n_nodes && size(multiplicity) == n_nodes &&
               size(residual) == n_nodes && size(diagonal) == n_nodes &&
               size(row_begin) == n_nodes && size(row_end) == n_nodes,
           "the arrays of the rows differ in length");
    expect(size(columns) == n_entries && size(values) == n_entries &&
               (size(weights) == 0 || size(weights) == n_entries),
           "the arrays of the entries differ in length");
    expect(node_ptr.data()[last] <= n_nodes && indptr.data()[n_nodes] <= n_entries,
           "node_ptr or indptr ends beyond the arrays");
    const Graphs graphs{node_ptr.data(), indptr.data(), indices.data(), weights.data(), self_loop};
    const Quotients quotients{n_classes.data(), class_of.data(), multiplicity.data(),
                              residual.data(),  diagonal.data(), row_begin.data(),
                              row_end.data(),   columns.data(),  values.data()};
    if (size(weights) > 0)
        merge_graphs<true>(graphs, first, last, quotients);
    else
        merge_graphs<false>(graphs, first, last, quotients);
}

}  // namespace

static const Family FAMILY([](nb::module_& m) { define(m, "merge_twins", merge_twins); });

}  // namespace retgk
