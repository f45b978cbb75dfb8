// Python's side of label_products.hpp, and the panels of columns that it takes.
#include <algorithm>

#include "arrays.hpp"
#include "label_products.hpp"

namespace retgk {

namespace {

// The most rows that a label has in tile i of the graphs. All of them exist, and are of graphs of
// the result.
template <typename T>
int64_t checked_rows(const In<T, 2>& features, const In<int64_t>& rows, const In<int64_t>& graphs,
                     const In<int64_t, 2>& tile_ptr, int64_t i, int64_t n_graphs) {
    const int64_t n_tiles = size(tile_ptr, 1) - 1;
    expect(0 <= i && i < n_tiles, "there is no such tile");
    expect(size(rows) == size(graphs), "graphs has one for every row");
    int64_t most = 0;
    bool is_inside = true;
    for (int64_t label = 0; label < size(tile_ptr); ++label) {
        const int64_t begin = tile_ptr.data()[label * (n_tiles + 1) + i];
        const int64_t end = tile_ptr.data()[label * (n_tiles + 1) + i + 1];
        expect(0 <= begin && begin <= end && end <= size(rows), "tile_ptr is out of range");
        for (int64_t e = begin; e < end; ++e) {
            const int64_t row = rows.data()[e], graph = graphs.data()[e];
            is_inside &= 0 <= row && row < size(features) && 0 <= graph && graph < n_graphs;
        }
        most = std::max(most, end - begin);
    }
    if (!is_inside) throw std::out_of_range("rows or graphs has a number out of range");
    return most;
}

// Write the panels of one tile of graphs; what pads the last of a label stays as it is.
template <typename T>
void label_panels(In<T, 2> features, In<int64_t> rows, In<int64_t> graphs, In<int64_t, 2> tile_ptr,
                  int64_t j, Out<T, 3> values, In<int64_t, 2> ptr) {
    const int64_t depth = size(features, 1), n_tiles = size(ptr, 1);
    expect(size(ptr) == size(tile_ptr) && size(tile_ptr, 1) == n_tiles + 1 &&
               size(values, 1) == depth && size(values, 2) == PANEL<T>,
           "the panels are not those of the rows");
    checked_rows(features, rows, graphs, tile_ptr, j, INT64_MAX);
    for (int64_t label = 0; label < size(ptr); ++label) {
        const int64_t begin = tile_ptr.data()[label * (n_tiles + 1) + j];
        const int64_t n_rows = tile_ptr.data()[label * (n_tiles + 1) + j + 1] - begin;
        const int64_t first = ptr.data()[label * n_tiles + j];
        expect(0 <= first && first + (n_rows + PANEL<T> - 1) / PANEL<T> <= size(values),
               "ptr is out of range");
        T* panels = values.data() + first * depth * PANEL<T>;
        for (int64_t i = 0; i < n_rows; ++i) {
            const T* own = features.data() + rows.data()[begin + i] * depth;
            T* out = panels + i / PANEL<T> * depth * PANEL<T> + i % PANEL<T>;
            for (int64_t k = 0; k < depth; ++k) out[k * PANEL<T>] = own[k];
        }
    }
}

// Add the products of all labels to a tile: graphs of tile i of the rows, of tile j of the columns.
template <typename T>
void label_products(In<T, 2> features, In<int64_t> rows, In<int64_t> graphs,
                    In<int64_t, 2> tile_ptr, In<T, 2> y_features, In<int64_t> y_rows,
                    In<int64_t> y_graphs, In<int64_t, 2> y_tile_ptr, In<T, 3> values,
                    In<int64_t, 2> ptr, int64_t i, int64_t j, bool is_symmetric,
                    Out<double, 2> products) {
    const int64_t depth = size(features, 1), n_labels = size(tile_ptr), n_tiles = size(ptr, 1);
    expect(size(y_tile_ptr) == n_labels && size(ptr) == n_labels &&
               size(y_tile_ptr, 1) == n_tiles + 1 && size(values, 1) == depth &&
               size(values, 2) == PANEL<T> && size(y_features, 1) == depth,
           "the rows and panels differ in labels, tiles or features");
    const int64_t n_rows = checked_rows(features, rows, graphs, tile_ptr, i, size(products));
    checked_rows(y_features, y_rows, y_graphs, y_tile_ptr, j, size(products, 1));
    for (int64_t label = 0; label < n_labels; ++label) {
        const int64_t* own = y_tile_ptr.data() + label * (n_tiles + 1) + j;
        const int64_t first = ptr.data()[label * n_tiles + j];
        expect(0 <= first && first + (own[1] - own[0] + PANEL<T> - 1) / PANEL<T> <= size(values),
               "ptr is out of range");
    }
    Aligned<T> packed((n_rows + WHOLE_STRIPS) * std::min(depth, DEPTH), T(0));
    RETGK_CHOSEN(add_labels)
    (LabelTile<T>{features.data(), depth, n_labels, rows.data(), graphs.data(), tile_ptr.data() + i,
                  size(tile_ptr, 1), y_graphs.data(), y_tile_ptr.data() + j, n_tiles + 1,
                  values.data(), ptr.data() + j, n_tiles, is_symmetric, products.data(),
                  size(products, 1), packed.data()});
}

template <typename T>
void define_products(nb::module_& m) {
    define(m, "fill_label_panels", label_panels<T>);
    define(m, "add_label_products", label_products<T>);
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define_products<float>(m);
    define_products<double>(m);
});

}  // namespace retgk
