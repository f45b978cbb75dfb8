// Counts of small subgraphs: exact sums over edges and triangles, and samples.
#include <algorithm>
#include <array>
#include <cmath>

#include "arrays.hpp"
#include "graphs.hpp"
#include "hashing.hpp"

namespace retgk {

namespace {

// One graph without its self-loops, its nodes numbered by degree. A node has few larger neighbours
// then, even if it has many neighbours, so that loops over them do not take the squares of large
// degrees.
class SortedGraph {
public:
    explicit SortedGraph(const Graphs& graphs) : graphs_(graphs) {}

    void take(int64_t g) {
        n_ = graphs_.n_nodes(g);
        const int64_t* indptr = graphs_.indptr + graphs_.node_ptr[g];
        const int32_t* indices = graphs_.indices;
        by_degree_.resize(n_);
        for (int64_t u = 0; u < n_; ++u) {
            const bool has_loop = std::binary_search(indices + indptr[u], indices + indptr[u + 1],
                                                     static_cast<int32_t>(u));
            by_degree_[u] = {indptr[u + 1] - indptr[u] - has_loop, u};
        }
        std::sort(by_degree_.begin(), by_degree_.end());
        rank_.resize(n_);
        ptr_.assign(1, 0);
        for (int64_t u = 0; u < n_; ++u) {
            rank_[by_degree_[u].second] = static_cast<int32_t>(u);
            ptr_.push_back(ptr_.back() + by_degree_[u].first);
        }
        // every node is written into the rows of its neighbours, the smallest first
        rows_.resize(ptr_[n_]);
        next_.assign(ptr_.begin(), ptr_.end() - 1);
        larger_ptr_.resize(n_);
        for (int64_t u = 0; u < n_; ++u) {
            larger_ptr_[u] = next_[u];
            const int64_t node = by_degree_[u].second;
            for (int64_t i = indptr[node]; i < indptr[node + 1]; ++i)
                if (indices[i] != node) rows_[next_[rank_[indices[i]]]++] = static_cast<int32_t>(u);
        }
        place_of_.assign(n_, -1);
    }

    int64_t n_nodes() const { return n_; }
    uint64_t degree(int64_t u) const { return static_cast<uint64_t>(ptr_[u + 1] - ptr_[u]); }
    int64_t n_edges() const { return ptr_[n_] / 2; }
    // An edge is known by its place in the row of its smaller end.
    int64_t first_edge(int64_t u) const { return larger_ptr_[u]; }
    int64_t last_edge(int64_t u) const { return ptr_[u + 1]; }
    int32_t larger_end(int64_t edge) const { return rows_[edge]; }

    // Count the triangles of every node and of every edge.
    void count_triangles(std::vector<uint64_t>& of_nodes, std::vector<uint64_t>& of_edges) {
        of_nodes.assign(n_, 0);
        of_edges.assign(rows_.size(), 0);
        for (int64_t u = 0; u < n_; ++u) {
            for (int64_t i = first_edge(u); i < last_edge(u); ++i) place_of_[rows_[i]] = i;
            for (int64_t i = first_edge(u); i < last_edge(u); ++i) {
                const int32_t v = rows_[i];
                for (int64_t j = first_edge(v); j < last_edge(v); ++j) {
                    const int64_t third = place_of_[rows_[j]];
                    if (third < 0) continue;
                    ++of_edges[i];
                    ++of_edges[j];
                    ++of_edges[third];
                    ++of_nodes[u];
                    ++of_nodes[v];
                    ++of_nodes[rows_[j]];
                }
            }
            for (int64_t i = first_edge(u); i < last_edge(u); ++i) place_of_[rows_[i]] = -1;
        }
    }

    // Cycles of four nodes, each from its largest one: two ways to the node opposite to it.
    uint64_t n_squares() {
        shared_.assign(n_, 0);
        uint64_t total = 0;
        for (int64_t u = 0; u < n_; ++u) {
            for (int64_t i = ptr_[u]; i < larger_ptr_[u]; ++i) {
                const int32_t v = rows_[i];
                // each way makes a square with those before it
                for (int64_t j = ptr_[v]; rows_[j] < u; ++j) total += shared_[rows_[j]]++;
            }
            for (int64_t i = ptr_[u]; i < larger_ptr_[u]; ++i) {
                const int32_t v = rows_[i];
                for (int64_t j = ptr_[v]; rows_[j] < u; ++j) shared_[rows_[j]] = 0;
            }
        }
        return total;
    }

    // Cliques of four nodes: triangles among the larger neighbours of the smallest node.
    uint64_t n_cliques() {
        uint64_t total = 0;
        for (int64_t u = 0; u < n_; ++u) {
            const int32_t* own = rows_.data() + first_edge(u);
            const int64_t width = last_edge(u) - first_edge(u), n_words = (width + 63) / 64;
            if (width < 3) continue;
            // row a of the bits has the larger neighbours of one of these
            bits_.assign(width * n_words, 0);
            for (int64_t a = 0; a < width; ++a) place_of_[own[a]] = a;
            for (int64_t a = 0; a < width; ++a) {
                for (int64_t i = first_edge(own[a]); i < last_edge(own[a]); ++i) {
                    const int64_t b = place_of_[rows_[i]];
                    if (b >= 0) bits_[a * n_words + (b >> 6)] |= uint64_t{1} << (b & 63);
                }
            }
            total += n_triangles_of_bits(width, n_words);
            for (int64_t a = 0; a < width; ++a) place_of_[own[a]] = -1;
        }
        return total;
    }

private:
    __attribute__((noinline)) uint64_t n_triangles_of_bits(int64_t width, int64_t n_words) const {
        uint64_t total = 0;
        for (int64_t a = 0; a < width; ++a) {
            const uint64_t* own = bits_.data() + a * n_words;
            for (int64_t start = a >> 6; start < n_words; ++start) {
                for (uint64_t left = own[start]; left != 0; left &= left - 1) {
                    const int64_t b = 64 * start + __builtin_ctzll(left);
                    const uint64_t* others = bits_.data() + b * n_words;
                    for (int64_t word = start; word < n_words; ++word)
                        total += __builtin_popcountll(own[word] & others[word]);
                }
            }
        }
        return total;
    }

    const Graphs& graphs_;
    int64_t n_ = 0;
    std::vector<std::pair<int64_t, int64_t>> by_degree_;  // degrees and nodes
    std::vector<int32_t> rank_, rows_;                    // neighbours, rising
    std::vector<int64_t> ptr_, larger_ptr_, next_;
    std::vector<int64_t> place_of_;  // -1 between calls
    std::vector<uint64_t> shared_, bits_;
};

// Count subgraphs of k nodes, induced or not, with edges as in CUBIC_SUMS or QUARTIC_SUMS of
// `peer_kernels.graphlets`. Sums of the largest graphs wrap around; what is made of them does not.
void count_subgraphs(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                     In<int64_t> indptr, In<int32_t> indices, int k, Out<int64_t, 2> sums) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect((k == 3 && size(sums, 1) == 4) || (k == 4 && size(sums, 1) == 11),
           "there are 4 sums of three nodes, 11 of four");
    expect(size(sums) == size(node_ptr) - 1, "every graph has sums");
    SortedGraph graph(graphs);
    std::vector<uint64_t> of_nodes, of_edges;
    for (int64_t g = first_graph; g < last_graph; ++g) {
        graph.take(g);
        graph.count_triangles(of_nodes, of_edges);
        const uint64_t n = graph.n_nodes(), edges = graph.n_edges();
        uint64_t wedges = 0, triangles = 0, claws = 0, paths = 0, paws = 0, diamonds = 0;
        for (int64_t u = 0; u < graph.n_nodes(); ++u) {
            const uint64_t d = graph.degree(u);
            wedges += d * (d - 1) / 2;
            claws += d * (d - 1) * (d - 2) / 6;
            triangles += of_nodes[u];
            paws += of_nodes[u] * (d - 2);
            for (int64_t i = graph.first_edge(u); i < graph.last_edge(u); ++i) {
                paths += (d - 1) * (graph.degree(graph.larger_end(i)) - 1);
                diamonds += of_edges[i] * (of_edges[i] - 1) / 2;
            }
        }
        triangles /= 3;
        int64_t* own = sums.data() + g * size(sums, 1);
        if (k == 3) {
            own[0] = n * (n - 1) / 2 * (n - 2) / 3;
            own[1] = edges * (n - 2);
            own[2] = wedges;
            own[3] = triangles;
            continue;
        }
        own[0] = n * (n - 1) / 2 * (n - 2) / 3 * (n - 3) / 4;
        own[1] = edges * ((n - 2) * (n - 3) / 2);
        own[2] = edges * (edges - 1) / 2 - wedges;
        own[3] = wedges * (n - 3);
        own[4] = triangles * (n - 3);
        own[5] = claws;
        own[6] = paths - 3 * triangles;
        own[7] = paws;
        own[8] = graph.n_squares();
        own[9] = diamonds;
        own[10] = triangles > 3 ? graph.n_cliques() : 0;
    }
}

// Edges of one graph, by bits or, for a large graph, by halving rows.
class Edges {
public:
    explicit Edges(const Graphs& graphs) : graphs_(graphs) {}

    void take(int64_t g) {
        const int64_t n = graphs_.n_nodes(g);
        indptr_ = graphs_.indptr + graphs_.node_ptr[g];
        n_words_ = n <= MOST_BITS ? (n + 63) / 64 : 0;
        bits_.assign(n * n_words_, 0);
        if (n_words_ == 0) return;
        for (int64_t u = 0; u < n; ++u)
            for (int64_t i = indptr_[u]; i < indptr_[u + 1]; ++i)
                bits_[u * n_words_ + (graphs_.indices[i] >> 6)] |= uint64_t{1}
                                                                   << (graphs_.indices[i] & 63);
    }

    // Edges among the first K of some nodes, a bit for each pair.
    template <size_t K>
    uint32_t mask(const int32_t* nodes) const {
        uint32_t found = 0;
        int bit = 0;
        if (n_words_ > 0) {
            for (size_t i = 0; i < K; ++i) {
                const uint64_t* own = bits_.data() + nodes[i] * n_words_;
                for (size_t j = i + 1; j < K; ++j)
                    found |= static_cast<uint32_t>(own[nodes[j] >> 6] >> (nodes[j] & 63) & 1)
                             << bit++;
            }
            return found;
        }
        for (size_t i = 0; i < K; ++i) {
            const int32_t* begin = graphs_.indices + indptr_[nodes[i]];
            const int32_t* end = graphs_.indices + indptr_[nodes[i] + 1];
            for (size_t j = i + 1; j < K; ++j)
                found |= uint32_t{std::binary_search(begin, end, nodes[j])} << bit++;
        }
        return found;
    }

private:
    static constexpr int64_t MOST_BITS = 2048;

    const Graphs& graphs_;
    const int64_t* indptr_ = nullptr;
    int64_t n_words_ = 0;
    std::vector<uint64_t> bits_;
};

// Number of sets of k out of n nodes, or one more than `most` if that is less.
int64_t n_subsets(int64_t n, int64_t k, int64_t most) {
    double total = 1.0;
    for (int64_t i = 0; i < k; ++i)
        total = total * static_cast<double>(n - i) / static_cast<double>(i + 1);
    return static_cast<int64_t>(std::min(std::rint(total), static_cast<double>(most) + 1.0));
}

// Move on to the next set of rising nodes.
template <size_t K>
void move_on(std::array<int32_t, K>& nodes, int64_t n) {
    size_t place = K - 1;
    while (place > 0 && nodes[place] == n - static_cast<int64_t>(K - place)) --place;
    ++nodes[place];
    for (size_t i = place + 1; i < K; ++i) nodes[i] = nodes[i - 1] + 1;
}

// Draw different nodes; `state` is that of the generator.
template <size_t K>
void draw(std::array<int32_t, K>& nodes, uint64_t n, uint64_t& state) {
    for (size_t place = 0; place < K;) {
        state += 0x9E3779B97F4A7C15u;
        // 31 bits times n, of which the upper part is kept: no node is favoured by over n / 2^31
        const auto node = static_cast<int32_t>((mixed(state) >> 33) * n >> 31);
        bool is_new = true;
        for (size_t i = 0; i < place; ++i) is_new &= nodes[i] != node;
        nodes[place] = node;
        place += is_new;
    }
}

// What is drawn: types of masks, sets to draw, and a seed for every graph.
struct Draws {
    const int32_t* table;
    int64_t n_samples;
    const uint64_t* seeds;
};

template <size_t K>
void sample_sets(const Graphs& graphs, const Draws& draws, int64_t n_types, int64_t* counts) {
    Edges edges(graphs);
    for (int64_t g = graphs.first; g < graphs.last; ++g) {
        int64_t* own = counts + g * n_types;
        std::fill(own, own + n_types, 0);
        const int64_t n = graphs.n_nodes(g);
        if (n < static_cast<int64_t>(K)) continue;
        edges.take(g);
        const int64_t n_all = n_subsets(n, K, draws.n_samples);
        std::array<int32_t, K> nodes;
        if (n_all <= draws.n_samples) {
            for (size_t i = 0; i < K; ++i) nodes[i] = static_cast<int32_t>(i);
            ++own[draws.table[edges.mask<K>(nodes.data())]];
            for (int64_t place = 1; place < n_all; ++place) {
                move_on(nodes, n);
                ++own[draws.table[edges.mask<K>(nodes.data())]];
            }
            continue;
        }
        uint64_t state = draws.seeds[g];
        for (int64_t sample = 0; sample < draws.n_samples; ++sample) {
            draw(nodes, n, state);
            ++own[draws.table[edges.mask<K>(nodes.data())]];
        }
    }
}

template <size_t K>
void sample_pairs(const Graphs& graphs, const Draws& draws, int64_t n_types, int64_t* counts) {
    Edges edges(graphs);
    for (int64_t g = graphs.first; g < graphs.last; ++g) {
        const int64_t n = graphs.n_nodes(g);
        if (n <= static_cast<int64_t>(K)) continue;
        edges.take(g);
        uint64_t state = draws.seeds[g];
        std::array<int32_t, K + 1> nodes;
        for (int64_t sample = 0; sample < draws.n_samples; ++sample) {
            // of K + 1 different nodes in random order, the first and the last take turns
            draw(nodes, n, state);
            const int32_t before = draws.table[edges.mask<K>(nodes.data())];
            nodes[0] = nodes[K];
            const int32_t after = draws.table[edges.mask<K>(nodes.data())];
            ++counts[before * n_types + after];
            ++counts[after * n_types + before];
        }
    }
}

using Sampler = void (*)(const Graphs&, const Draws&, int64_t n_types, int64_t* counts);

Draws checked_draws(In<int32_t> table, int k, int64_t n_samples, In<uint64_t> seeds,
                    int64_t n_graphs) {
    expect(3 <= k && k <= 7, "graphlets have 3 to 7 nodes");
    expect(size(table) == int64_t{1} << (k * (k - 1) / 2), "every mask has a type");
    expect(size(seeds) == n_graphs, "every graph has a seed");
    return {table.data(), n_samples, seeds.data()};
}

// Count types of subgraphs on randomly drawn sets of nodes, of all sets where these are no more.
// `table` has the type of every mask. `counts` is filled, a row for each graph; all zero for graphs
// of fewer than k nodes.
void sample_graphlets(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                      In<int64_t> indptr, In<int32_t> indices, In<int32_t> table, int k,
                      int64_t n_samples, In<uint64_t> seeds, Out<int64_t, 2> counts) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    const Draws draws = checked_draws(table, k, n_samples, seeds, size(node_ptr) - 1);
    expect(size(counts) == size(seeds), "every graph has a row of counts");
    expect_below(table, size(counts, 1), "table");
    constexpr Sampler BY_SIZE[] = {sample_sets<3>, sample_sets<4>, sample_sets<5>, sample_sets<6>,
                                   sample_sets<7>};
    BY_SIZE[k - 3](graphs, draws, size(counts, 1), counts.data());
}

// Count pairs of types of drawn sets of nodes and of the same sets with one node replaced: those of
// all these graphs are added to `counts`, of shape (n_types, n_types), both ways. Graphs of k nodes
// or fewer have none.
void sample_graphlet_pairs(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                           In<int64_t> indptr, In<int32_t> indices, In<int32_t> table, int k,
                           int64_t n_samples, In<uint64_t> seeds, Out<int64_t, 2> counts) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    const Draws draws = checked_draws(table, k, n_samples, seeds, size(node_ptr) - 1);
    expect(size(counts) == size(counts, 1), "every pair of types has a count");
    expect_below(table, size(counts), "table");
    constexpr Sampler BY_SIZE[] = {sample_pairs<3>, sample_pairs<4>, sample_pairs<5>,
                                   sample_pairs<6>, sample_pairs<7>};
    BY_SIZE[k - 3](graphs, draws, size(counts), counts.data());
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "count_subgraphs", count_subgraphs);
    define(m, "sample_graphlets", sample_graphlets);
    define(m, "sample_graphlet_pairs", sample_graphlet_pairs);
});

}  // namespace retgk
