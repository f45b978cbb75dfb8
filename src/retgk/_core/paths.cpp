// Shortest paths from every node: counts of what their ends are, their lengths, and sums over pairs
// of paths of the same length.
//
// A counted path is known by a key: the colours of its two ends and, in the last bits, the number
// of its length among all lengths that were found.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <queue>
#include <tuple>

#include "arrays.hpp"
#include "graphs.hpp"
#include "hashing.hpp"

namespace retgk {

namespace {

// Searches from the nodes of one graph after the other.
template <bool IS_WEIGHTED>
class Search {
public:
    using Length = std::conditional_t<IS_WEIGHTED, double, int32_t>;

    Search(const Graphs& graphs, const double* weights)
        : graphs_(graphs),
          weights_(weights),
          lengths_(graphs.largest(), Length(-1)),
          reached_(graphs.largest() + 1) {}

    // Reach the nodes that paths lead to, in the graph whose first node is `first`.
    void start(int64_t first, int32_t source) {
        for (int64_t place = 0; place < n_reached_; ++place) lengths_[reached_[place]] = -1;
        n_reached_ = 0;
        indptr_ = graphs_.indptr + first;
        if constexpr (IS_WEIGHTED)
            search_by_length(source);
        else
            search_by_hops(source);
    }

    // They come in the order of their distances.
    int64_t n_reached() const { return n_reached_; }
    int32_t reached(int64_t place) const { return reached_[place]; }
    Length length(int32_t node) const { return lengths_[node]; }

private:
    void search_by_hops(int32_t source) {
        lengths_[source] = 0;
        reached_[0] = source;
        int64_t n = 1;
        for (int64_t place = 0; place < n; ++place) {
            const int32_t node = reached_[place];
            const Length further = lengths_[node] + 1;
            for (int64_t i = indptr_[node]; i < indptr_[node + 1]; ++i) {
                // without a branch, as nobody can tell which nodes were reached before; so the last
                // entries are written one after all nodes
                const int32_t other = graphs_.indices[i];
                const bool is_new = lengths_[other] < 0;
                lengths_[other] = is_new ? further : lengths_[other];
                reached_[n] = other;
                n += is_new;
            }
        }
        n_reached_ = n;
    }

    // Dijkstra's algorithm. Of nodes at the same distance the smallest comes first: the order of
    // the queue is that of all libraries then.
    void search_by_length(int32_t source) {
        queue_.emplace(0.0, source);
        while (!queue_.empty()) {
            const auto [length, node] = queue_.top();
            queue_.pop();
            if (lengths_[node] >= 0) continue;
            lengths_[node] = length;
            reached_[n_reached_++] = node;
            for (int64_t i = indptr_[node]; i < indptr_[node + 1]; ++i) {
                const int32_t other = graphs_.indices[i];
                if (lengths_[other] < 0) queue_.emplace(length + weights_[i], other);
            }
        }
    }

    using Waiting = std::pair<double, int32_t>;

    const Graphs& graphs_;
    const double* weights_;
    const int64_t* indptr_ = nullptr;
    std::vector<Length> lengths_;  // -1 of nodes that are not reached
    std::vector<int32_t> reached_;
    int64_t n_reached_ = 0;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<Waiting>> queue_;
};

// Ten to a whole power; those that double has exactly are at hand, which is quicker.
double power_of_ten(double exponent) {
    static const double EXACT[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return exponent >= 0 && exponent <= 22 ? EXACT[static_cast<int>(exponent)]
                                           : std::pow(10.0, exponent);
}

// Two numbers whose product is ten to some power, which may be too large for one number.
std::pair<double, double> powers_of_ten(double exponent) {
    if (exponent > 300.0) return {1e200, power_of_ten(exponent - 200.0)};
    return {1.0, power_of_ten(exponent)};
}

// Ten significant digits: sums of the same weights in another order are the same length.
double rounded(double length) {
    const double exponent = 9.0 - std::floor(std::log10(length));
    if (!std::isfinite(exponent)) return length;
    auto [first, second] = powers_of_ten(exponent);
    double digits = std::rint(length * first * second);
    if (digits >= 1e10) {  // as a number that is a little larger is written
        digits = 1e9;
        std::tie(first, second) = powers_of_ten(exponent - 1.0);
    }
    return digits / second / first;
}

// Numbers of lengths: hops are numbered by themselves, others as they come.
class Lengths {
public:
    int64_t number(int32_t hops) {
        most_hops_ = std::max(most_hops_, hops);
        return hops - 1;
    }

    int64_t number(double length) {
        length = rounded(length);
        uint64_t bits;
        std::memcpy(&bits, &length, sizeof bits);
        const int64_t number =
            numbering_.number(mixed(bits), [&](int64_t other) { return found_[other] == length; });
        if (number == static_cast<int64_t>(found_.size())) found_.push_back(length);
        return number;
    }

    std::vector<double> found() {
        for (int32_t hops = 1; hops <= most_hops_; ++hops) found_.push_back(hops);
        return std::move(found_);
    }

private:
    int32_t most_hops_ = 0;
    Numbering numbering_;
    std::vector<double> found_;
};

// Counts of the keys of one graph after the other.
class PathCounts {
public:
    explicit PathCounts(int bits) : bits_(bits), shift_(63 - 2 * bits), tallies_(MOST_TALLIES) {}

    // Begin a graph, whose nodes have these colours.
    void take(const int32_t* colours, int64_t n_nodes) {
        start_ = static_cast<int64_t>(keys.size());
        names_.assign(colours, colours + n_nodes);
        std::sort(names_.begin(), names_.end());
        names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
        n_names_ = static_cast<int64_t>(names_.size());
        most_lengths_ = MOST_TALLIES / (n_names_ * n_names_);
        numbers_.resize(n_nodes);
        for (int64_t node = 0; node < n_nodes; ++node)
            numbers_[node] =
                std::lower_bound(names_.begin(), names_.end(), colours[node]) - names_.begin();
    }

    // Most graphs have few colours and lengths: their paths are counted in a table of all of them.
    void add_pair(int32_t source, int32_t node, int64_t length) {
        const auto [low, high] = std::minmax(numbers_[source], numbers_[node]);
        if (length < most_lengths_) {
            const int64_t place = (length * n_names_ + low) * n_names_ + high;
            if (tallies_[place]++ == 0) {
                places_.emplace_back(place, keys.size());
                keys.push_back(key(names_[low], names_[high], length));
                counts.push_back(0.0);
            }
        } else {
            count_key(key(names_[low], names_[high], length));
        }
    }

    // Turn counts of pairs into counts of ordered pairs; gives how many keys the graph has.
    int64_t finish() {
        for (const auto& [place, number] : places_) {
            counts[number] = static_cast<double>(tallies_[place]);
            tallies_[place] = 0;
        }
        places_.clear();
        if (numbering_.size() > 0) {
            numbering_.clear();
            hashed_.clear();
        }
        const int64_t n_pairs = static_cast<int64_t>(keys.size());
        for (int64_t i = start_; i < n_pairs; ++i) {
            const int64_t ends = keys[i] >> shift_;
            const int64_t low = ends >> bits_, high = ends & ((int64_t{1} << bits_) - 1);
            if (low == high) {
                counts[i] *= 2;
                continue;
            }
            keys.push_back(key(high, low, keys[i] & ((int64_t{1} << shift_) - 1)));
            counts.push_back(counts[i]);
        }
        return static_cast<int64_t>(keys.size()) - start_;
    }

    std::vector<int64_t> keys;
    std::vector<double> counts;

private:
    static constexpr int64_t MOST_TALLIES = 1 << 16;

    int64_t key(int64_t first, int64_t second, int64_t length) const {
        return (((first << bits_) | second) << shift_) | length;
    }

    __attribute__((noinline)) void count_key(int64_t key) {
        const int64_t number = numbering_.number(
            mixed(key), [&](int64_t known) { return keys[hashed_[known]] == key; });
        if (number == static_cast<int64_t>(hashed_.size())) {
            hashed_.push_back(keys.size());
            keys.push_back(key);
            counts.push_back(0.0);
        }
        counts[hashed_[number]] += 1.0;
    }

    int bits_, shift_;
    int64_t start_ = 0, n_names_ = 0, most_lengths_ = 0;
    std::vector<int32_t> names_;                       // colours of the graph, rising
    std::vector<int64_t> numbers_;                     // of every node among them
    std::vector<int64_t> tallies_;                     // zero between graphs
    std::vector<std::pair<int64_t, int64_t>> places_;  // of tallies, and numbers of their keys
    std::vector<int64_t> hashed_;                      // numbers of the keys of all others
    Numbering numbering_;
};

template <bool IS_WEIGHTED>
void count_paths_of(const Graphs& graphs, const double* weights, const int32_t* colours,
                    PathCounts& found, Lengths& lengths, int64_t* sizes) {
    Search<IS_WEIGHTED> search(graphs, weights);
    for (int64_t g = graphs.first; g < graphs.last; ++g) {
        const int64_t first = graphs.node_ptr[g], n_nodes = graphs.n_nodes(g);
        found.take(colours + first, n_nodes);
        for (int32_t source = 0; source < n_nodes; ++source) {
            search.start(first, source);
            for (int64_t place = 0; place < search.n_reached(); ++place) {
                const int32_t node = search.reached(place);
                if (node >= source) continue;
                found.add_pair(source, node, lengths.number(search.length(node)));
            }
        }
        sizes[g] = found.finish();
    }
}

// Count the shortest paths between different nodes of some graphs, by the colours of their ends,
// which are below 2^bits, and their length, which has all bits of a key that are left of 63. Edges
// have length one if `weights` is empty. `sizes` is filled with the number of keys of every graph.
//
// Gives keys of every graph and how often they occur, as ordered pairs of nodes; and what the
// numbers of lengths in them stand for.
auto count_paths(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr, In<int64_t> indptr,
                 In<int32_t> indices, In<double> weights, In<int32_t> colours, int bits,
                 Out<int64_t> sizes) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect(size(colours) == size(indptr) - 1 && size(sizes) == size(node_ptr) - 1,
           "every node has a colour, and every graph a size");
    expect(size(weights) == 0 || size(weights) == size(indices),
           "every edge has a weight, or none has");
    expect(0 < bits && bits < 31, "a colour has 1 to 30 bits");
    PathCounts found(bits);
    Lengths lengths;
    (size(weights) > 0 ? count_paths_of<true> : count_paths_of<false>)(graphs, weights.data(),
                                                                       colours.data(), found,
                                                                       lengths, sizes.data());
    return std::make_tuple(to_numpy(std::move(found.keys)), to_numpy(std::move(found.counts)),
                           to_numpy(lengths.found()));
}

template <bool IS_WEIGHTED>
void fill_lengths_of(const Graphs& graphs, const double* weights, const int64_t* ptr,
                     double* lengths) {
    Search<IS_WEIGHTED> search(graphs, weights);
    for (int64_t g = graphs.first; g < graphs.last; ++g) {
        const int64_t n = graphs.n_nodes(g);
        double* own = lengths + ptr[g];
        std::fill(own, own + n * n, 0.0);
        for (int32_t source = 0; source < n; ++source) {
            search.start(graphs.node_ptr[g], source);
            for (int64_t place = 0; place < search.n_reached(); ++place) {
                const int32_t node = search.reached(place);
                if (node >= source) continue;
                const double length = search.length(node);
                own[node * n + source] = own[source * n + node] =
                    IS_WEIGHTED ? rounded(length) : length;
            }
        }
    }
}

// Write the matrix of lengths of shortest paths of some graphs, at ptr[g] each. No path, and a node
// to itself, have length zero; the lower triangle is that of the upper one.
void fill_lengths(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr, In<int64_t> indptr,
                  In<int32_t> indices, In<double> weights, In<int64_t> ptr, Out<double> lengths) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect(size(weights) == 0 || size(weights) == size(indices),
           "every edge has a weight, or none has");
    expect(size(ptr) == size(node_ptr) && ptr.data()[size(ptr) - 1] == size(lengths),
           "ptr rises to the sum of the squares of numbers of nodes");
    (size(weights) > 0 ? fill_lengths_of<true> : fill_lengths_of<false>)(graphs, weights.data(),
                                                                         ptr.data(),
                                                                         lengths.data());
}

// List the pairs of connected nodes of some graphs in the order of their lengths. `numbers` are
// matrices of numbers of lengths, -1 where there is no path, at matrix_ptr[g]; the pairs of a graph
// are written at ptr[g].
void fill_pairs(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                In<int64_t> matrix_ptr, In<int32_t> numbers, In<int64_t> ptr, Out<int32_t> lengths,
                Out<int32_t> starts, Out<int32_t> ends) {
    expect(0 <= first_graph && first_graph <= last_graph && last_graph < size(node_ptr),
           "first and last are graphs");
    expect(size(matrix_ptr) == size(node_ptr) && size(ptr) == size(node_ptr),
           "every graph has a matrix and pairs");
    const int64_t n_pairs = ptr.data()[size(ptr) - 1];
    expect(matrix_ptr.data()[size(matrix_ptr) - 1] == size(numbers) && size(lengths) == n_pairs &&
               size(starts) == n_pairs && size(ends) == n_pairs,
           "every pair has a length and two nodes");
    struct Pair {
        int32_t length, start, end;
    };
    std::vector<Pair> pairs;
    for (int64_t g = first_graph; g < last_graph; ++g) {
        const int32_t n = static_cast<int32_t>(node_ptr.data()[g + 1] - node_ptr.data()[g]);
        const int32_t* own = numbers.data() + matrix_ptr.data()[g];
        pairs.clear();
        for (int32_t u = 0; u < n; ++u, own += n)
            for (int32_t v = u + 1; v < n; ++v)
                if (own[v] >= 0) pairs.push_back({own[v], u, v});
        std::stable_sort(pairs.begin(), pairs.end(),
                         [](const Pair& a, const Pair& b) { return a.length < b.length; });
        int64_t place = ptr.data()[g];
        expect(place + static_cast<int64_t>(pairs.size()) == ptr.data()[g + 1],
               "there are more or fewer pairs than room");
        for (const Pair& pair : pairs) {
            lengths.data()[place] = pair.length;
            starts.data()[place] = pair.start;
            ends.data()[place++] = pair.end;
        }
    }
}

// Pairs of nodes in the order of lengths, of which some are of the same length.
struct Run {
    const int32_t *lengths, *starts, *ends;
    int64_t first, last, stop;

    void find_last() {
        last = first;
        while (last < stop && lengths[last] == lengths[first]) ++last;
    }
    int64_t size() const { return last - first; }
};

struct Kernel {
    const double* values;
    int64_t n, m, width;  // rows, columns, and how far apart rows lie

    const double* row(int64_t u) const { return values + u * width; }
};

__attribute__((noinline)) double sum_of_pairs(const Kernel& kernel, const Run& own,
                                              const Run& other) {
    double total = 0.0;
    for (int64_t i = own.first; i < own.last; ++i) {
        const double *u = kernel.row(own.starts[i]), *v = kernel.row(own.ends[i]);
        for (int64_t j = other.first; j < other.last; ++j) {
            const int32_t w = other.starts[j], x = other.ends[j];
            total += u[w] * v[x] + u[x] * v[w];
        }
    }
    return total;
}

// With A and B the matrices of paths of this length, the sum is that of K * (A K B).
__attribute__((noinline)) double sum_of_products(const Kernel& kernel, const Run& own,
                                                 const Run& other, double* steps) {
    std::fill(steps, steps + kernel.n * kernel.m, 0.0);
    for (int64_t i = own.first; i < own.last; ++i) {
        const int64_t u = own.starts[i], v = own.ends[i];
        double* __restrict of_u = steps + u * kernel.m, * __restrict of_v = steps + v * kernel.m;
        const double *at_u = kernel.row(u), *at_v = kernel.row(v);
        for (int64_t w = 0; w < kernel.m; ++w) {
            of_u[w] += at_v[w];
            of_v[w] += at_u[w];
        }
    }
    double total = 0.0;
    for (int64_t u = 0; u < kernel.n; ++u) {
        const double *own_row = kernel.row(u), *own_steps = steps + u * kernel.m;
        for (int64_t j = other.first; j < other.last; ++j)
            total += own_row[other.starts[j]] * own_steps[other.ends[j]];
    }
    return total;
}

// Sum of k(u, u') k(v, v') over paths u-v of one graph and u'-v' of another, both ways each.
double sum_over_paths(const Kernel& kernel, Run own, Run other, double* steps) {
    double total = 0.0;
    for (; own.first < own.stop && other.first < other.stop;) {
        const int32_t length = own.lengths[own.first], other_length = other.lengths[other.first];
        own.find_last();
        other.find_last();
        if (length == other_length) {
            const int64_t n_products =
                2 * own.size() * kernel.m + kernel.n * (other.size() + kernel.m);
            total += 2 * (4 * own.size() * other.size() <= n_products
                              ? sum_of_pairs(kernel, own, other)
                              : sum_of_products(kernel, own, other, steps));
        }
        if (length <= other_length) own.first = own.last;
        if (length >= other_length) other.first = other.last;
    }
    return total;
}

// Write the kernel of one graph with each of some others, of which there are the offsets of nodes
// and of pairs of all graphs, and their pairs in the order of lengths. `kernel` is that of its
// nodes with all nodes of the others; `out` is filled from the place `first_graph` on.
void fill_path_products(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                        In<int64_t> ptr, In<double, 2> kernel, In<int32_t> lengths,
                        In<int32_t> starts, In<int32_t> ends, In<int32_t> other_lengths,
                        In<int32_t> other_starts, In<int32_t> other_ends, Out<double> out) {
    expect(0 <= first_graph && first_graph <= last_graph && last_graph < size(node_ptr) &&
               size(ptr) == size(node_ptr) && last_graph <= size(out),
           "first and last are graphs");
    const int64_t n_others = ptr.data()[size(ptr) - 1];
    expect(size(starts) == size(lengths) && size(ends) == size(lengths) &&
               size(other_lengths) == n_others && size(other_starts) == n_others &&
               size(other_ends) == n_others,
           "every pair has a length and two nodes");
    const int64_t n = size(kernel), width = size(kernel, 1), *nodes = node_ptr.data();
    expect(width == nodes[last_graph] - nodes[first_graph], "every other node has a column");
    int64_t widest = 0;
    for (int64_t h = first_graph; h < last_graph; ++h)
        widest = std::max(widest, nodes[h + 1] - nodes[h]);
    Aligned<double> steps(n * widest);
    const Run own{lengths.data(), starts.data(), ends.data(), 0, 0, size(lengths)};
    for (int64_t h = first_graph; h < last_graph; ++h) {
        const Kernel block{kernel.data() + nodes[h] - nodes[first_graph], n,
                           nodes[h + 1] - nodes[h], width};
        const Run other{other_lengths.data(), other_starts.data(), other_ends.data(),
                        ptr.data()[h],        ptr.data()[h],       ptr.data()[h + 1]};
        out.data()[h] = sum_over_paths(block, own, other, steps.data());
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "count_paths", count_paths);
    define(m, "fill_lengths", fill_lengths);
    define(m, "fill_pairs", fill_pairs);
    define(m, "fill_path_products", fill_path_products);
});

}  // namespace retgk
