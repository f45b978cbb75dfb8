// The nodes around every node, and products of sparse rows of two nodes.
#include <algorithm>

#include "arrays.hpp"
#include "graphs.hpp"

namespace retgk {

namespace {

// Nodes within some steps of a node, one neighbourhood after the other.
class Neighbourhood {
public:
    Neighbourhood(const Graphs& graphs, int64_t radius)
        : graphs_(graphs), radius_(radius), is_inside_(graphs.largest(), false) {}

    // Mark them, and list them from the smallest on: those around a node of the graph whose first
    // node is `first`.
    const std::vector<int32_t>& around(int64_t first, int32_t root) {
        for (const int32_t node : found_) is_inside_[node] = false;
        found_.assign(1, root);
        is_inside_[root] = true;
        size_t start = 0;
        for (int64_t step = 0; step < radius_ && start < found_.size(); ++step) {
            for (const size_t stop = found_.size(); start < stop; ++start) {
                const int64_t row = first + found_[start];
                for (int64_t i = graphs_.indptr[row]; i < graphs_.indptr[row + 1]; ++i) {
                    const int32_t other = graphs_.indices[i];
                    if (is_inside_[other]) continue;
                    is_inside_[other] = true;
                    found_.push_back(other);
                }
            }
        }
        std::sort(found_.begin(), found_.end());
        return found_;
    }

    bool has(int32_t node) const { return is_inside_[node]; }

private:
    const Graphs& graphs_;
    int64_t radius_;
    std::vector<uint8_t> is_inside_;
    std::vector<int32_t> found_;
};

// Count the nodes within `radius` steps of every node, and the entries among them.
void count_neighbourhoods(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                          In<int64_t> indptr, In<int32_t> indices, int64_t radius,
                          Out<int64_t> sizes, Out<int64_t> n_entries) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect(size(sizes) == size(indptr) - 1 && size(n_entries) == size(sizes),
           "every node has a number of nodes and of entries");
    Neighbourhood neighbourhood(graphs, radius);
    for (int64_t g = first_graph; g < last_graph; ++g) {
        const int64_t first = graphs.node_ptr[g];
        for (int32_t root = 0; root < graphs.n_nodes(g); ++root) {
            const std::vector<int32_t>& found = neighbourhood.around(first, root);
            int64_t total = 0;
            for (const int32_t node : found)
                for (int64_t i = graphs.indptr[first + node]; i < graphs.indptr[first + node + 1];
                     ++i)
                    total += neighbourhood.has(graphs.indices[i]);
            sizes.data()[first + root] = static_cast<int64_t>(found.size());
            n_entries.data()[first + root] = total;
        }
    }
}

// Write the subgraphs of all nodes within `radius` steps of every node of some graphs: the node,
// numbered over the batch, that each node of a subgraph is; rows and neighbours of the subgraphs;
// and the entry of the graph that each of their entries is. The subgraph of a node begins at
// ptr[node], and its entries at entry_ptr[node].
void fill_neighbourhoods(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr,
                         In<int64_t> indptr, In<int32_t> indices, int64_t radius, In<int64_t> ptr,
                         In<int64_t> entry_ptr, Out<int64_t> members, Out<int64_t> own_indptr,
                         Out<int32_t> own_indices, Out<int64_t> entries) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect(
        size(ptr) == size(indptr) && size(entry_ptr) == size(indptr) &&
            ptr.data()[size(ptr) - 1] == size(members) && size(own_indptr) == size(members) + 1 &&
            entry_ptr.data()[size(ptr) - 1] == size(entries) && size(own_indices) == size(entries),
        "offsets rise to the numbers of nodes and of entries");
    Neighbourhood neighbourhood(graphs, radius);
    std::vector<int32_t> number(graphs.largest());
    for (int64_t g = first_graph; g < last_graph; ++g) {
        const int64_t first = graphs.node_ptr[g];
        for (int32_t root = 0; root < graphs.n_nodes(g); ++root) {
            const std::vector<int32_t>& found = neighbourhood.around(first, root);
            int64_t at = ptr.data()[first + root], entry = entry_ptr.data()[first + root];
            expect(at + static_cast<int64_t>(found.size()) == ptr.data()[first + root + 1],
                   "there are more or fewer nodes than room");
            for (size_t place = 0; place < found.size(); ++place)
                number[found[place]] = static_cast<int32_t>(place);
            for (const int32_t node : found) {
                members.data()[at] = first + node;
                own_indptr.data()[at++] = entry;
                for (int64_t i = graphs.indptr[first + node]; i < graphs.indptr[first + node + 1];
                     ++i) {
                    const int32_t other = graphs.indices[i];
                    if (!neighbourhood.has(other)) continue;
                    own_indices.data()[entry] = number[other];
                    entries.data()[entry++] = i;
                }
            }
        }
    }
}

// Sparse rows.
struct SparseRows {
    const int64_t* ptr;
    const int32_t* columns;
    const double* values;

    SparseRows(const In<int64_t>& ptr, const In<int32_t>& columns, const In<double>& values)
        : ptr(ptr.data()), columns(columns.data()), values(values.data()) {
        expect(ptr.data()[size(ptr) - 1] == size(columns) && size(values) == size(columns),
               "every column has a value");
    }

    int32_t largest_column(int64_t first, int64_t last) const {
        const auto begin = columns + ptr[first], end = columns + ptr[last];
        return begin == end ? -1 : *std::max_element(begin, end);
    }

    void write(int64_t row, std::vector<double>& dense, bool is_cleared) const {
        for (int64_t i = ptr[row]; i < ptr[row + 1]; ++i)
            dense[columns[i]] = is_cleared ? 0.0 : values[i];
    }

    double product(int64_t row, const std::vector<double>& dense) const {
        double total = 0.0;
        for (int64_t i = ptr[row]; i < ptr[row + 1]; ++i) total += values[i] * dense[columns[i]];
        return total;
    }
};

// Write the sums over pairs of nodes of their kernel times the product of their sparse rows, of one
// graph, whose first node is `first`, with each of some others. `kernel` is that of its nodes with
// those of the others; `out` is filled from the place of the first of these on.
void fill_invariant_products(In<double, 2> kernel, int64_t first, In<int64_t> ptr,
                             In<int32_t> columns, In<double> values, int64_t first_graph,
                             int64_t last_graph, In<int64_t> node_ptr, In<int64_t> other_ptr,
                             In<int32_t> other_columns, In<double> other_values, Out<double> out) {
    const SparseRows rows(ptr, columns, values);
    const SparseRows others(other_ptr, other_columns, other_values);
    const int64_t n = size(kernel), width = size(kernel, 1), *nodes = node_ptr.data();
    expect(0 <= first_graph && first_graph <= last_graph && last_graph < size(node_ptr) &&
               last_graph <= size(out),
           "first and last are graphs");
    const int64_t base = nodes[first_graph];
    expect(0 <= first && first + n < size(ptr) && width == nodes[last_graph] - base &&
               nodes[last_graph] < size(other_ptr),
           "every node has a row, and a row or column of the kernel");
    std::fill(out.data() + first_graph, out.data() + last_graph, 0.0);
    // one row of the graph at a time is dense: steps through two sparse rows cannot be foreseen
    const int32_t largest = std::max(rows.largest_column(first, first + n),
                                     others.largest_column(base, nodes[last_graph]));
    std::vector<double> dense(static_cast<size_t>(largest) + 1, 0.0);
    for (int64_t u = 0; u < n; ++u) {
        rows.write(first + u, dense, false);
        const double* own = kernel.data() + u * width;
        for (int64_t h = first_graph; h < last_graph; ++h) {
            double total = out.data()[h];
            for (int64_t x = nodes[h]; x < nodes[h + 1]; ++x)
                if (own[x - base] != 0.0) total += own[x - base] * others.product(x, dense);
            out.data()[h] = total;
        }
        rows.write(first + u, dense, true);
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "count_neighbourhoods", count_neighbourhoods);
    define(m, "fill_neighbourhoods", fill_neighbourhoods);
    define(m, "fill_invariant_products", fill_invariant_products);
});

}  // namespace retgk
