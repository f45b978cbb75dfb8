// Inner products of the vectors of some graphs, label by label.
#pragma once

#include "levels.hpp"
#include "panels.hpp"

namespace retgk {

constexpr int64_t DEPTH =
    256;  // columns multiplied at a time: the rows of a tile stay in the cache

// One tile of graphs as rows, one as columns. The vector of a graph has a row of features for each
// label that it has; rows are sorted by label, and by graph within a label.
template <typename T>
struct LabelTile {
    const T* features;  // (.., depth)
    int64_t depth, n_labels;
    // Rows of the first graphs, and the graph of each: those of a label and this tile begin at
    // x_ptr[label x_stride] and end at the next number. The second graphs have panels instead,
    // their first one at panel_ptr[label panel_stride].
    const int64_t *rows, *x_graphs, *x_ptr;
    int64_t x_stride;
    const int64_t *y_graphs, *y_ptr;
    int64_t y_stride;
    const T* panels;  // (.., depth, PANEL)
    const int64_t* panel_ptr;
    int64_t panel_stride;
    // what lies above the diagonal is left out, if the graphs are the same
    bool is_symmetric;
    double* products;
    int64_t n_columns;
    T* packed;  // room for the rows of a label, in whole strips, aligned
};

}  // namespace retgk

// Add the products of all labels. A product is summed over columns in order, so it depends on no
// other graph, tile or thread.
RETGK_DECLARE(void add_labels(const LabelTile<float>& work))
RETGK_DECLARE(void add_labels(const LabelTile<double>& work))
