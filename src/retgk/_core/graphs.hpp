// Some graphs of a batch, as loops over graphs take them.
#pragma once

#include "arrays.hpp"

namespace retgk {

struct Graphs {
    int64_t first, last;  // of the graphs; not the last
    const int64_t *node_ptr, *indptr;
    const int32_t* indices;  // neighbours, numbered within their graph, rising

    int64_t n_nodes(int64_t g) const { return node_ptr[g + 1] - node_ptr[g]; }

    int64_t largest() const {
        int64_t found = 0;
        for (int64_t g = first; g < last; ++g) found = n_nodes(g) > found ? n_nodes(g) : found;
        return found;
    }
};

// Numbers of neighbours were checked where the batch was built.
inline Graphs some_graphs(int64_t first, int64_t last, const In<int64_t>& node_ptr,
                          const In<int64_t>& indptr, const In<int32_t>& indices) {
    expect(0 <= first && first <= last && last < size(node_ptr), "first and last are graphs");
    const int64_t n_nodes = node_ptr.data()[size(node_ptr) - 1];
    expect(size(indptr) == n_nodes + 1, "indptr has one number more than there are nodes");
    expect(size(indices) == indptr.data()[n_nodes], "indptr ends with the number of neighbours");
    return {first, last, node_ptr.data(), indptr.data(), indices.data()};
}

}  // namespace retgk
