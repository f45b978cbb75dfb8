// Python's side of exact_tiles.hpp, and the loops that add up what tiles have found.
#include "arrays.hpp"
#include "exact_tiles.hpp"

namespace retgk {

namespace {

// products[G, g] = sum_ij w_Gi w_gj k(row i, column j), for rows start to stop - 1. If rows and
// columns are the same points, tiles before the diagonal are left out and those on it count half:
// adding the transpose completes the matrix. Products with graphs before the lowest of the first
// tile are left as they are.
template <typename T>
void products_of_graphs(In<T, 2> row_points, In<int64_t> row_ptr, In<int64_t> row_graphs,
                        In<double, 2> row_weights, In<T, 3> column_points, In<int64_t> run_ptr,
                        In<int64_t> run_graphs, In<int64_t, 2> positions, In<T, 2> run_weights,
                        In<int64_t> lowest, In<int64_t> factor_ptr, In<int64_t> kinds,
                        In<double, 2> coefficients, In<int64_t> degrees, int64_t start,
                        int64_t stop, bool is_symmetric, In<int64_t> numbers,
                        Out<double, 2> products) {
    const int64_t n_coordinates = size(row_points, 1), n_graphs = size(products, 1);
    const int64_t n_runs = size(run_graphs), n_factors = size(kinds), n_tiles = size(lowest);
    const int64_t n_row_tiles = size(row_ptr) - 1;
    expect(size(column_points, 1) == n_coordinates && size(column_points, 2) == GROUP,
           "column_points has the coordinates of the rows, in groups");
    expect(0 <= start && start <= stop && stop <= size(row_points) && start % CHUNK == 0,
           "start and stop are rows");
    expect(n_row_tiles * LANES<T> >= size(row_points), "row_ptr ends before the rows");
    expect(size(row_weights) == size(row_graphs) && size(row_weights, 1) == LANES<T>,
           "row_weights has the weights of all lanes for every graph of row_graphs");
    expect(size(run_ptr) == n_tiles + 1 && n_tiles > 0 && run_ptr.data()[n_tiles] == n_runs &&
               n_tiles * CHUNK >= size(column_points) * GROUP,
           "run_ptr and lowest describe the tiles of the columns");
    expect(size(positions) == n_runs && size(positions, 1) == RUN && size(run_weights) == n_runs &&
               size(run_weights, 1) == RUN,
           "positions and run_weights have a row for every run");
    expect(size(factor_ptr) == n_factors + 1 && size(coefficients) == n_factors &&
               size(degrees) == n_factors && factor_ptr.data()[n_factors] <= n_coordinates,
           "the arrays of the factors differ in length");
    const int64_t *ptr = row_ptr.data(), last = (stop + LANES<T> - 1) / LANES<T>;
    expect(size(numbers) == ptr[last] - ptr[start / LANES<T>] && ptr[last] <= size(row_weights),
           "numbers has one for every entry of the rows");
    expect_below(numbers, size(products), "numbers");
    expect_below(run_graphs, n_graphs, "run_graphs");
    Aligned<T> block(CHUNK * n_coordinates, T(0)), tile(CHUNK * LANES<T>),
        squares(CHUNK * LANES<T>);
    Aligned<double> sums(CHUNK * n_graphs);
    RETGK_CHOSEN(fill_products)
    (ExactTiles<T>{row_points.data(),
                   n_coordinates,
                   ptr,
                   row_weights.data(),
                   column_points.data(),
                   size(column_points),
                   run_ptr.data(),
                   run_graphs.data(),
                   positions.data(),
                   run_weights.data(),
                   lowest.data(),
                   n_tiles,
                   factor_ptr.data(),
                   kinds.data(),
                   coefficients.data(),
                   size(coefficients, 1),
                   degrees.data(),
                   n_factors,
                   start,
                   stop,
                   is_symmetric,
                   numbers.data(),
                   products.data(),
                   size(products),
                   n_graphs,
                   block.data(),
                   tile.data(),
                   squares.data(),
                   sums.data()});
}

// Add pieces of rows to a matrix. A piece is the row of the matrix, first product, first column
// number and their number. Pieces of one row follow each other, so that it stays in the cache.
void add_pieces(In<double> products, In<int64_t> columns, In<int64_t, 2> pieces,
                Out<double, 2> gram) {
    expect(size(pieces, 1) == 4, "a piece is four numbers");
    for (int64_t piece = 0; piece < size(pieces); ++piece) {
        const int64_t* own = pieces.data() + 4 * piece;
        const int64_t row = own[0], first = own[1], column = own[2], n = own[3];
        expect(row >= 0 && row < size(gram) && first >= 0 && first + n <= size(products) &&
                   column >= 0 && column + n <= size(columns),
               "a piece lies outside of the arrays");
        double* out = gram.data() + row * size(gram, 1);
        const double* values = products.data() + first;
        const int64_t* places = columns.data() + column;
        for (int64_t j = 0; j < n; ++j) out[places[j]] += values[j];
    }
}

// Entries of single rows: first entry of every row, graph and weight of every entry.
void expect_entries(const In<double, 2>& products, const In<int64_t>& ptr,
                    const In<int64_t>& graphs, const In<double>& weights,
                    const In<int64_t>& column_graphs) {
    expect(size(ptr) == size(products) + 1 && size(graphs) == size(weights) && ptr.data()[0] >= 0 &&
               ptr.data()[size(products)] <= size(graphs),
           "the entries do not belong to the products");
    expect(size(column_graphs) == size(products, 1), "column_graphs has one for every column");
}

// Add weighted products of single rows with columns first to last - 1 to the graphs that have them,
// in the order of the rows.
void add_rows(In<double, 2> products, In<int64_t> ptr, In<int64_t> graphs, In<double> weights,
              In<int64_t> column_graphs, int64_t first, int64_t last, Out<double, 2> gram) {
    expect_entries(products, ptr, graphs, weights, column_graphs);
    expect(0 <= first && last <= size(column_graphs), "first and last are columns");
    expect_below(column_graphs, size(gram, 1), "column_graphs");
    const int64_t* places = column_graphs.data();
    for (int64_t i = 0; i < size(products); ++i) {
        const double* own = products.data() + i * size(products, 1);
        for (int64_t e = ptr.data()[i]; e < ptr.data()[i + 1]; ++e) {
            double* out = gram.data() + graphs.data()[e] * size(gram, 1);
            const double weight = weights.data()[e];
            for (int64_t j = first; j < last; ++j) out[places[j]] += weight * own[j];
        }
    }
}

// Write the weighted sum over fitted graphs of every entry of single rows; weights are those of
// fitted graphs, one row for each graph. The sum is taken in four parts, the same for every row.
void write_entry_values(In<double, 2> products, In<int64_t> ptr, In<int64_t> graphs,
                        In<double> shares, In<int64_t> column_graphs, In<double, 2> weights,
                        Out<double> values) {
    expect_entries(products, ptr, graphs, shares, column_graphs);
    expect(size(values) == size(shares), "values has one for every entry");
    expect_below(column_graphs, size(weights, 1), "column_graphs");
    const int64_t n = size(column_graphs);
    const int64_t* places = column_graphs.data();
    for (int64_t i = 0; i < size(products); ++i) {
        const double* found = products.data() + i * n;
        for (int64_t e = ptr.data()[i]; e < ptr.data()[i + 1]; ++e) {
            const double* own = weights.data() + graphs.data()[e] * size(weights, 1);
            double parts[4] = {};
            int64_t j = 0;
            for (; j + 4 <= n; j += 4)
                for (int k = 0; k < 4; ++k) parts[k] += own[places[j + k]] * found[j + k];
            for (; j < n; ++j) parts[0] += own[places[j]] * found[j];
            const double total = (parts[0] + parts[1]) + (parts[2] + parts[3]);
            values.data()[e] = shares.data()[e] * total;
        }
    }
}

template <typename T>
void define_products(nb::module_& m) {
    define(m, "fill_products", products_of_graphs<T>);
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    m.attr("CHUNK") = CHUNK;
    m.attr("GROUP") = GROUP;
    m.attr("RUN") = RUN;
    m.attr("LANE_BYTES") = LANE_BYTES;
    m.attr("ABSOLUTE") = static_cast<int64_t>(ABSOLUTE);
    m.attr("SQUARED") = static_cast<int64_t>(SQUARED);
    m.attr("LAPLACIAN") = static_cast<int64_t>(LAPLACIAN);
    m.attr("POLYNOMIAL") = static_cast<int64_t>(POLYNOMIAL);
    define_products<float>(m);
    define_products<double>(m);
    define(m, "add_pieces", add_pieces);
    define(m, "add_rows", add_rows);
    define(m, "write_entry_values", write_entry_values);
});

}  // namespace retgk
