// The loops of label_products.hpp, for one level of instructions.
#include "label_products.hpp"

#include "panel_products.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

// Copy columns first to last - 1 of some rows to strips.
template <typename T>
void pack_rows(const LabelTile<T>& w, const int64_t* rows, int64_t n_rows, int64_t first,
               int64_t last) {
    for (int64_t i = 0; i < n_rows; ++i) {
        const T* own = w.features + rows[i] * w.depth;
        T* out = row_in_strips(w.packed, i, last - first);
        for (int64_t k = first; k < last; ++k, out += STRIP) *out = own[k];
    }
}

// Add the products of the first n_rows of a strip with a panel of n_columns graphs.
template <typename T, int64_t ROWS>
__attribute__((noinline)) void add_product(const LabelTile<T>& w, const T* strip, const T* panel,
                                           int64_t n, const int64_t* row_graphs, int64_t n_rows,
                                           const int64_t* graphs, int64_t n_columns) {
    Sums<T, ROWS> total;
    multiply<T, ROWS>(strip, STRIP, panel, n, total);
    // graphs that follow each other: without a look at the number of each
    const bool is_run = n_columns == PANEL<T> && graphs[PANEL<T> - 1] - graphs[0] == PANEL<T> - 1;
    for (int64_t j = 0; j < ROWS; ++j) {
        T own[PANEL<T>];
        __builtin_memcpy(own, total[j], sizeof(own));
        if (j >= n_rows) return;
        double* out = w.products + row_graphs[j] * w.n_columns;
        if (is_run) {
            double* __restrict place = out + graphs[0];
            for (int64_t c = 0; c < PANEL<T>; ++c) place[c] += own[c];
        } else {
            for (int64_t c = 0; c < n_columns; ++c) out[graphs[c]] += own[c];
        }
    }
}

template <typename T>
void add_label(const LabelTile<T>& w, int64_t label) {
    const int64_t row = w.x_ptr[label * w.x_stride], n_rows = w.x_ptr[label * w.x_stride + 1] - row;
    const int64_t begin = w.y_ptr[label * w.y_stride], end = w.y_ptr[label * w.y_stride + 1];
    if (n_rows == 0 || begin == end) return;
    for (int64_t first = 0; first < w.depth; first += DEPTH) {
        const int64_t last = smaller(first + DEPTH, w.depth), n = last - first;
        pack_rows(w, w.rows + row, n_rows, first, last);
        int64_t top = 0;
        for (int64_t column = begin; column < end; column += PANEL<T>) {
            if (w.is_symmetric)  // strips that lie above the diagonal as a whole
                while (top + STRIP <= n_rows &&
                       w.x_graphs[row + top + STRIP - 1] < w.y_graphs[column])
                    top += STRIP;
            const int64_t number =
                w.panel_ptr[label * w.panel_stride] + (column - begin) / PANEL<T>;
            const T* panel = w.panels + (number * w.depth + first) * PANEL<T>;
            for (int64_t i = top; i < n_rows; i += STRIP) {
                const int64_t left = smaller(STRIP, n_rows - i);
                const auto add = 3 * left > 2 * STRIP ? add_product<T, STRIP>
                                 : 3 * left > STRIP   ? add_product<T, STRIP * 2 / 3>
                                                      : add_product<T, STRIP / 3>;
                add(w, w.packed + i * n, panel, n, w.x_graphs + row + i, left, w.y_graphs + column,
                    smaller(PANEL<T>, end - column));
            }
        }
    }
}

}  // namespace

void add_labels(const LabelTile<float>& w) {
    for (int64_t label = 0; label < w.n_labels; ++label) add_label(w, label);
}
void add_labels(const LabelTile<double>& w) {
    for (int64_t label = 0; label < w.n_labels; ++label) add_label(w, label);
}

}  // namespace retgk::RETGK_LEVEL
