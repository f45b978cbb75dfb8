// Counts of substructures: runs of equal columns, postings, products of rows.
//
// A row of counts belongs to a graph, a posting list to a column: the graphs that have it, rising,
// and how often. Sums of whole numbers below 2^53 are exact in float64: their order changes no bit.
// Offsets of postings are in 32 bits where they fit, those of rows too if they were turned.
#include <algorithm>

#include "arrays.hpp"
#include "count_tiles.hpp"
#include "hashing.hpp"

namespace retgk {

namespace {

void expect_rows(int64_t first, int64_t last, int64_t n_rows) {
    expect(0 <= first && first <= last && last <= n_rows, "first and last are graphs");
}

// Counts of graphs, or of columns.
template <typename Offset>
struct Counts {
    const Offset* ptr;
    const int32_t* columns;
    const double* counts;
    int64_t n, n_entries;

    Counts(const In<Offset>& ptr, const In<int32_t>& columns, const In<double>& counts)
        : ptr(ptr.data()),
          columns(columns.data()),
          counts(counts.data()),
          n(size(ptr) - 1),
          n_entries(size(columns)) {
        expect(n >= 0 && this->ptr[0] == 0 && this->ptr[n] == n_entries,
               "offsets rise from 0 to the number of columns");
        expect(size(counts) == n_entries, "every column has a count");
    }
};

// Sort the columns of the nodes of some graphs, level by level, and count different ones.
void count_runs(int64_t first, int64_t last, In<int64_t> node_ptr, Out<int32_t, 2> columns,
                Out<int64_t> sizes) {
    expect_rows(first, last, size(sizes));
    expect(size(node_ptr) == size(sizes) + 1 && node_ptr.data()[size(sizes)] == size(columns, 1),
           "node_ptr rises to the number of nodes");
    for (int64_t g = first; g < last; ++g) {
        int64_t total = 0;
        for (int64_t level = 0; level < size(columns); ++level) {
            int32_t* own = columns.data() + level * size(columns, 1);
            int32_t *begin = own + node_ptr.data()[g], *end = own + node_ptr.data()[g + 1];
            std::sort(begin, end);
            total += 1;
            for (const int32_t* at = begin + 1; at < end; ++at) total += at[0] != at[-1];
        }
        sizes.data()[g] = total;
    }
}

// Write every different column of some graphs, once, with the number of nodes that have it.
void fill_runs(int64_t first, int64_t last, In<int64_t> node_ptr, In<int32_t, 2> columns,
               In<int64_t> ptr, Out<int32_t> found, Out<double> counts) {
    expect_rows(first, last, size(node_ptr) - 1);
    expect(size(ptr) == size(node_ptr) && ptr.data()[size(ptr) - 1] == size(found) &&
               size(counts) == size(found),
           "ptr rises to the number of columns and counts");
    for (int64_t g = first; g < last; ++g) {
        int64_t place = ptr.data()[g];
        for (int64_t level = 0; level < size(columns); ++level) {
            const int32_t* own = columns.data() + level * size(columns, 1);
            const int64_t end = node_ptr.data()[g + 1];
            for (int64_t start = node_ptr.data()[g], i = start; i < end; start = i) {
                while (i < end && own[i] == own[start]) ++i;
                found.data()[place] = own[start];
                counts.data()[place++] = static_cast<double>(i - start);
            }
        }
    }
}

// Number keys: those that are known by their place, the others in order of appearance after them.
// Gives the keys that are new, in the order of their numbers.
auto number_keys(In<int64_t> known, In<int64_t> keys, Out<int32_t> numbers) {
    expect(size(keys) == size(numbers), "every key has a number");
    Numbering numbering(size(known));
    std::vector<int64_t> names(known.data(), known.data() + size(known));
    for (int64_t k = 0; k < size(known); ++k)
        numbering.number(mixed(known.data()[k]), [](int64_t) { return false; });
    for (int64_t k = 0; k < size(keys); ++k) {
        const int64_t key = keys.data()[k], n_before = numbering.size();
        const int64_t number =
            numbering.number(mixed(key), [&](int64_t other) { return names[other] == key; });
        if (number == n_before) names.push_back(key);
        numbers.data()[k] = static_cast<int32_t>(number);
    }
    return to_numpy(std::vector<int64_t>(names.begin() + size(known), names.end()));
}

// Write the graphs of every column, and how often they have it; offsets are filled too.
template <typename Offset>
void fill_postings(In<Offset> ptr, In<int32_t> columns, In<double> counts, Out<int64_t> post_ptr,
                   Out<int32_t> graphs, Out<double> post_counts) {
    const Counts<Offset> rows(ptr, columns, counts);
    const int64_t n_columns = size(post_ptr) - 1;
    expect(size(graphs) == rows.n_entries && size(post_counts) == rows.n_entries,
           "every column has a graph and a count");
    expect_below(columns, n_columns, "columns");
    // first where postings begin, then where the next one goes, which is where the next list begins
    int64_t* next = post_ptr.data();
    std::fill(next, next + n_columns + 1, 0);
    for (int64_t i = 0; i < rows.n_entries; ++i) ++next[rows.columns[i] + 1];
    for (int64_t c = 0; c < n_columns; ++c) next[c + 1] += next[c];
    for (int64_t g = 0; g < rows.n; ++g) {
        for (int64_t i = rows.ptr[g]; i < rows.ptr[g + 1]; ++i) {
            const int64_t at = next[rows.columns[i]]++;
            graphs.data()[at] = static_cast<int32_t>(g);
            post_counts.data()[at] = rows.counts[i];
        }
    }
    std::copy_backward(next, next + n_columns, next + n_columns + 1);
    next[0] = 0;
}

// Count the postings that the product of every row looks at.
template <typename Offset>
void row_costs(In<int64_t> ptr, In<int32_t> columns, In<double> counts, In<Offset> post_ptr,
               In<bool> is_dense, Out<int64_t> costs) {
    const Counts<int64_t> rows(ptr, columns, counts);
    const int64_t n_columns = size(is_dense);
    expect(size(costs) == rows.n && size(post_ptr) == n_columns + 1, "every row has a cost");
    for (int64_t g = 0; g < rows.n; ++g) {
        int64_t total = 1;
        for (int64_t i = rows.ptr[g]; i < rows.ptr[g + 1]; ++i) {
            const int32_t c = rows.columns[i];
            if (c < n_columns && !is_dense.data()[c])
                total += post_ptr.data()[c + 1] - post_ptr.data()[c];
        }
        costs.data()[g] = total;
    }
}

template <bool IS_MINIMUM>
__attribute__((noinline)) void add_postings(double value, const int32_t* graphs,
                                            const double* counts, int64_t n, double* row) {
    for (int64_t p = 0; p < n; ++p)
        row[graphs[p]] += IS_MINIMUM ? std::min(value, counts[p]) : value * counts[p];
}

// Add products of counts over sparse columns, or the smaller of two counts if `is_minimum`. With
// `is_lower`, to graphs up to the row's own alone.
template <typename Offset>
void add_shared(int64_t first, int64_t last, In<int64_t> ptr, In<int32_t> columns,
                In<double> counts, In<Offset> post_ptr, In<int32_t> post_graphs,
                In<double> post_counts, In<bool> is_dense, bool is_minimum, bool is_lower,
                Out<double, 2> out) {
    const Counts<int64_t> rows(ptr, columns, counts);
    const Counts<Offset> postings(post_ptr, post_graphs, post_counts);
    expect_rows(first, last, rows.n);
    expect(size(out) == rows.n && size(is_dense) == postings.n,
           "every graph has a row of the result, every column is dense or not");
    for (int64_t g = first; g < last; ++g) {
        double* row = out.data() + g * size(out, 1);
        for (int64_t i = rows.ptr[g]; i < rows.ptr[g + 1]; ++i) {
            const int32_t c = rows.columns[i];
            if (c >= postings.n || is_dense.data()[c]) continue;
            const int32_t* begin = postings.columns + postings.ptr[c];
            const int32_t* end = postings.columns + postings.ptr[c + 1];
            if (is_lower) end = std::upper_bound(begin, end, static_cast<int32_t>(g));
            const auto add = is_minimum ? add_postings<true> : add_postings<false>;
            add(rows.counts[i], begin, postings.counts + postings.ptr[c], end - begin, row);
        }
    }
}

// Add what levels of columns make of sums s of smaller counts over all columns up to the end of the
// level: a ratio times s / (a + b - s), with a and b the norms of the two graphs, and a factor
// times s. With `is_lower`, graphs are compared with each other, and the result is symmetric.
template <typename Offset, typename Value>
void add_levels(int64_t first, int64_t last, In<int64_t> ptr, In<int32_t> columns,
                In<double> counts, In<double, 2> row_norms, In<Offset> post_ptr,
                In<int32_t> post_graphs, In<double> post_counts, In<double, 2> norms,
                In<int64_t> level_ends, In<double> ratios, In<double> factors, bool is_lower,
                Out<Value, 2> out) {
    const Counts<int64_t> rows(ptr, columns, counts);
    const Counts<Offset> postings(post_ptr, post_graphs, post_counts);
    const int64_t n_levels = size(level_ends), n_others = size(out, 1);
    expect_rows(first, last, rows.n);
    expect(size(ratios) == n_levels && size(factors) == n_levels && size(norms) == n_levels &&
               size(row_norms) == n_levels && size(norms, 1) == n_others &&
               size(row_norms, 1) == rows.n && size(out) == rows.n &&
               (!is_lower || n_others == rows.n),
           "every level has weights, and a norm for each graph");
    constexpr int64_t GROUP = 8;  // rows that are mirrored together: whole cache lines are written
    std::vector<double> sums(n_others), values(GROUP * n_others);
    for (int64_t start = first; start < last; start += GROUP) {
        const int64_t stop = std::min(start + GROUP, last);
        for (int64_t g = start; g < stop; ++g) {
            const int64_t n = is_lower ? g : n_others;
            double* row = values.data() + (g - start) * n_others;
            std::fill(sums.begin(), sums.begin() + n, 0.0);
            std::fill(row, row + n, 0.0);
            double own_value = 0.0;
            int64_t i = rows.ptr[g];
            for (int64_t level = 0; level < n_levels; ++level) {
                for (; i < rows.ptr[g + 1]; ++i) {
                    const int32_t c = rows.columns[i];
                    if (c >= postings.n) continue;  // columns of new graphs alone
                    if (c >= level_ends.data()[level]) break;
                    const int32_t* begin = postings.columns + postings.ptr[c];
                    const int32_t* end = postings.columns + postings.ptr[c + 1];
                    if (is_lower) end = std::lower_bound(begin, end, static_cast<int32_t>(g));
                    add_postings<true>(rows.counts[i], begin, postings.counts + postings.ptr[c],
                                       end - begin, sums.data());
                }
                const double ratio = ratios.data()[level], factor = factors.data()[level];
                const double own = row_norms.data()[level * rows.n + g];
                const double* others = norms.data() + level * n_others;
                if (ratio != 0) {
                    for (int64_t h = 0; h < n; ++h) {
                        const double whole = own + others[h] - sums[h];
                        row[h] += whole > 0 ? ratio * (sums[h] / whole) : 0.0;
                    }
                    own_value += own > 0 ? ratio : 0.0;
                }
                if (factor != 0) {
                    for (int64_t h = 0; h < n; ++h) row[h] += factor * sums[h];
                    own_value += factor * own;
                }
            }
            Value* result = out.data() + g * n_others;
            for (int64_t h = 0; h < n; ++h) result[h] += static_cast<Value>(row[h]);
            if (is_lower) result[g] += static_cast<Value>(own_value);
        }
        for (int64_t h = 0; is_lower && h < stop - 1; ++h)
            for (int64_t g = std::max(start, h + 1); g < stop; ++g)
                out.data()[h * n_others + g] +=
                    static_cast<Value>(values[(g - start) * n_others + h]);
    }
}

// Write the counts of some columns, a row of `dense` for each, a column for each graph.
void fill_columns(In<int64_t> ptr, In<int32_t> columns, In<double> counts,
                  In<int64_t> place_of_column, Out<double, 2> dense) {
    const Counts<int64_t> rows(ptr, columns, counts);
    expect(size(dense, 1) == rows.n, "every graph has a column of the result");
    std::fill(dense.data(), dense.data() + size(dense) * rows.n, 0.0);
    for (int64_t g = 0; g < rows.n; ++g) {
        for (int64_t i = rows.ptr[g]; i < rows.ptr[g + 1]; ++i) {
            if (rows.columns[i] >= size(place_of_column)) continue;
            const int64_t place = place_of_column.data()[rows.columns[i]];
            if (place >= 0 && place < size(dense))
                dense.data()[place * rows.n + g] = rows.counts[i];
        }
    }
}

// Add the smaller of two counts over dense columns. With `is_lower`, to graphs up to the row's own,
// and perhaps to some after it.
void add_dense_minima(int64_t first, int64_t last, In<double, 2> dense_rows, In<double, 2> dense,
                      bool is_lower, Out<double, 2> out) {
    const int64_t n_columns = size(dense), n_rows = size(out), n_others = size(out, 1);
    expect_rows(first, last, n_rows);
    expect(size(dense_rows) == n_columns && size(dense_rows, 1) == n_rows &&
               size(dense, 1) == n_others && (!is_lower || n_rows == n_others),
           "the shapes of counts and result do not match");
    constexpr int64_t GROUP = 16;
    std::vector<int64_t> ptr;
    std::vector<int32_t> columns;
    std::vector<double> counts;
    for (int64_t start = first; start < last; start += GROUP) {
        const int64_t stop = std::min(start + GROUP, last);
        ptr.assign(1, 0);
        columns.clear();
        counts.clear();
        for (int64_t g = start; g < stop; ++g) {
            for (int64_t c = 0; c < n_columns; ++c) {
                const double count = dense_rows.data()[c * n_rows + g];
                if (count <= 0) continue;
                columns.push_back(static_cast<int32_t>(c));
                counts.push_back(count);
            }
            ptr.push_back(static_cast<int64_t>(columns.size()));
        }
        RETGK_CHOSEN(add_minima)
        (Minima{start, stop, is_lower, is_lower ? stop : n_others, n_others, ptr.data(),
                columns.data(), counts.data(), dense.data(), out.data()});
    }
}

// Divide one tile on or below the diagonal by the norms, whose parts are given; mirror it.
void finish_tile(int64_t first_row, int64_t last_row, int64_t first_column, int64_t last_column,
                 In<double> norms, In<double> units, In<double> rest, bool is_normalized,
                 Out<double, 2> out) {
    const int64_t n = size(out);
    expect_rows(first_row, last_row, n);
    expect_rows(first_column, last_column, n);
    expect(size(out, 1) == n && size(norms) == n && size(units) == n && size(rest) == n,
           "every graph has a row, a column, a norm and its parts");
    double* values = out.data();
    constexpr int64_t GROUP = 8;  // rows that are mirrored together: whole cache lines are written
    for (int64_t start = first_row; start < last_row; start += GROUP) {
        const int64_t stop = std::min(start + GROUP, last_row);
        for (int64_t g = start; g < stop; ++g) {
            double* row = values + g * n;
            if (g >= first_column && g < last_column) row[g] = norms.data()[g];
            if (!is_normalized) continue;
            RETGK_CHOSEN(divide_by_norms)
            (NormedRow{row + first_column, std::min(last_column, g + 1) - first_column,
                       units.data()[g], rest.data()[g], units.data() + first_column,
                       rest.data() + first_column});
        }
        for (int64_t h = first_column; h < std::min(last_column, stop - 1); ++h)
            for (int64_t g = std::max(start, h + 1); g < stop; ++g)
                values[h * n + g] = values[g * n + h];
    }
}

template <typename Offset>
void bind_postings(nb::module_& m) {
    define(m, "fill_postings", fill_postings<Offset>);
    define(m, "row_costs", row_costs<Offset>);
    define(m, "add_shared", add_shared<Offset>);
    define(m, "add_levels", add_levels<Offset, float>);
    define(m, "add_levels", add_levels<Offset, double>);
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "count_runs", count_runs);
    define(m, "fill_runs", fill_runs);
    define(m, "number_keys", number_keys);
    bind_postings<int32_t>(m);
    bind_postings<int64_t>(m);
    define(m, "fill_columns", fill_columns);
    define(m, "add_dense_minima", add_dense_minima);
    define(m, "finish_tile", finish_tile);
});

}  // namespace retgk
