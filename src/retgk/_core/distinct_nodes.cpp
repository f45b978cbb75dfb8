// Groups of nodes of one graph and one label, and nodes that are alike to the bit taken together.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>

#include "arrays.hpp"
#include "hashing.hpp"

namespace retgk {

namespace {

// The pairs of a graph and a label that occur: first group of every graph, label of every group and
// group of every node, -1 for those whose label is -1.
auto label_groups(In<int64_t> node_ptr, In<int32_t> labels, int64_t n_labels) {
    const int64_t n_graphs = size(node_ptr) - 1, n_nodes = size(labels);
    expect(n_graphs >= 0 && node_ptr.data()[0] == 0 && node_ptr.data()[n_graphs] == n_nodes,
           "labels has one for every node");
    std::vector<int64_t> ptr(1, 0), of_node(static_cast<size_t>(n_nodes), -1);
    std::vector<int64_t> last_graph(static_cast<size_t>(n_labels), -1), group_of(last_graph);
    std::vector<int32_t> found;
    ptr.reserve(static_cast<size_t>(n_graphs) + 1);
    for (int64_t graph = 0; graph < n_graphs; ++graph) {
        const int64_t begin = node_ptr.data()[graph], end = node_ptr.data()[graph + 1];
        for (int64_t node = begin; node < end; ++node) {
            const int32_t label = labels.data()[node];
            expect(label < n_labels, "labels has a number out of range");
            if (label < 0 || last_graph[label] == graph) continue;
            last_graph[label] = graph;
            found.push_back(label);
        }
        std::sort(found.begin() + ptr.back(), found.end());
        for (size_t group = ptr.back(); group < found.size(); ++group)
            group_of[found[group]] = static_cast<int64_t>(group);
        for (int64_t node = begin; node < end; ++node)
            if (labels.data()[node] >= 0) of_node[node] = group_of[labels.data()[node]];
        ptr.push_back(static_cast<int64_t>(found.size()));
    }
    return std::tuple(to_numpy(std::move(ptr)), to_numpy(std::move(found)),
                      to_numpy(std::move(of_node)));
}

// What nodes are compared by: their group, and the bits of some columns of 64 bits.
class Features {
public:
    explicit Features(const int64_t* group_of) : group_of_(group_of) {}

    template <typename T>
    void add(const In<T, 2>& block) {
        static_assert(sizeof(T) == 8);
        blocks_.push_back({reinterpret_cast<const char*>(block.data()), size(block, 1)});
    }

    // Of the group and a few columns; nodes that agree in them are compared in full.
    uint64_t hash(int64_t node) const {
        uint64_t value = static_cast<uint64_t>(group_of_[node]);
        for (const Block& block : blocks_) {
            const int64_t step = std::max<int64_t>(1, block.n_columns / HASHED_COLUMNS);
            for (int64_t column = block.n_columns - 1; column >= 0; column -= step) {
                uint64_t bits;
                std::memcpy(&bits, block.data + 8 * (node * block.n_columns + column), 8);
                value = (value ^ bits) * 0x9E3779B97F4A7C15u;
                value ^= value >> 32;
            }
        }
        return value;
    }

    bool are_alike(int64_t i, int64_t j) const {
        if (group_of_[i] != group_of_[j]) return false;
        for (const Block& block : blocks_) {
            const int64_t n_bytes = 8 * block.n_columns;
            if (std::memcmp(block.data + i * n_bytes, block.data + j * n_bytes, n_bytes) != 0)
                return false;
        }
        return true;
    }

private:
    static constexpr int64_t HASHED_COLUMNS = 6;
    struct Block {
        const char* data;
        int64_t n_columns;
    };
    const int64_t* group_of_;
    std::vector<Block> blocks_;
};

// The first node of each kind in one graph, and how many there are.
struct Leaders {
    std::vector<int64_t> nodes, counts;
    Numbering kinds;

    void find(const Features& features, const int64_t* group_of, int64_t begin, int64_t end) {
        nodes.clear();
        counts.clear();
        kinds.clear();
        for (int64_t node = begin; node < end; ++node) {
            if (group_of[node] < 0) continue;
            const auto is_same = [&](int64_t k) { return features.are_alike(nodes[k], node); };
            const int64_t kind = kinds.number(features.hash(node), is_same);
            if (kind == static_cast<int64_t>(nodes.size())) {
                nodes.push_back(node);
                counts.push_back(0);
            }
            ++counts[kind];
        }
    }
};

// Nodes of graphs first to last - 1, each standing for all that equal it, sorted by group: the
// nodes, the share of the nodes of their graph that they stand for, and their groups.
auto distinct_nodes(In<int64_t> node_ptr, In<int64_t> group_ptr, In<int64_t> group_of,
                    In<double, 2> probabilities, In<double, 2> attributes, In<uint64_t, 2> keys,
                    int64_t first, int64_t last) {
    const int64_t n_nodes = size(group_of), n_graphs = size(node_ptr) - 1;
    expect(0 <= first && last <= n_graphs && size(group_ptr) == n_graphs + 1 &&
               node_ptr.data()[n_graphs] == n_nodes,
           "first and last are graphs, and group_of has one for every node");
    expect(size(probabilities) == n_nodes && size(attributes) == n_nodes && size(keys) == n_nodes,
           "blocks have a row for every node");
    Features features(group_of.data());
    features.add(probabilities);
    features.add(attributes);
    features.add(keys);
    Leaders leaders;
    std::vector<int64_t> nodes, groups, starts;
    std::vector<double> weights;
    for (int64_t graph = first; graph < last; ++graph) {
        const int64_t begin = node_ptr.data()[graph], end = node_ptr.data()[graph + 1];
        const int64_t first_group = group_ptr.data()[graph];
        leaders.find(features, group_of.data(), begin, end);
        // counted and placed: leaders of a group stay in the order of their nodes
        starts.assign(group_ptr.data()[graph + 1] - first_group + 1, 0);
        for (const int64_t node : leaders.nodes) {
            const int64_t group = group_of.data()[node] - first_group;
            expect(0 <= group && group + 1 < static_cast<int64_t>(starts.size()),
                   "a node has a group of another graph");
            ++starts[group + 1];
        }
        for (size_t group = 1; group < starts.size(); ++group) starts[group] += starts[group - 1];
        const size_t n_before = nodes.size(), n_after = n_before + leaders.nodes.size();
        nodes.resize(n_after);
        weights.resize(n_after);
        groups.resize(n_after);
        for (size_t kind = 0; kind < leaders.nodes.size(); ++kind) {
            const int64_t node = leaders.nodes[kind], group = group_of.data()[node];
            const size_t place = n_before + starts[group - first_group]++;
            nodes[place] = node;
            weights[place] =
                static_cast<double>(leaders.counts[kind]) / static_cast<double>(end - begin);
            groups[place] = group;
        }
    }
    return std::tuple(to_numpy(std::move(nodes)), to_numpy(std::move(weights)),
                      to_numpy(std::move(groups)));
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "label_groups", label_groups);
    define(m, "distinct_nodes", distinct_nodes);
});

}  // namespace retgk
