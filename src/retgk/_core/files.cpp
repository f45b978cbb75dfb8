// Reading text files of numbers: columns of them, and adjacency from lists of edges.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

#include "arrays.hpp"

namespace retgk {
namespace {

bool is_blank(uint8_t character) { return character == ' ' || character == '\t'; }

// Parse whole lines of integers, separated by commas, into the columns `values[c, :]`. Returns the
// number of lines that parsed, and where the first other one starts, or -1.
//
// The text ends with a newline, which ends every inner loop: none of them has to look for the end
// of the text. One long function: with its inner loops in functions of their own it is slower.
template <typename T>
std::tuple<int64_t, int64_t> parse_integers(In<uint8_t> text, Out<T, 2> values) {
    constexpr int64_t MOST_DIGITS = 18;  // the most that never overflow 64 bits
    constexpr int64_t LIMIT = std::numeric_limits<T>::max();
    const int64_t n_bytes = size(text), n_columns = size(values), width = size(values, 1);
    const uint8_t* at = text.data();
    const uint8_t *begin = at, *end = at + n_bytes;
    expect(n_bytes == 0 || end[-1] == '\n', "the text must end with a newline");
    // a number takes a digit and what ends it
    expect(n_columns > 0 && width >= n_bytes / (2 * n_columns), "values is too small for the text");
    int64_t row = 0;
    while (at < end) {
        const uint8_t* line = at;
        for (int64_t column = 0; column < n_columns; ++column) {
            while (is_blank(*at)) ++at;
            const bool is_negative = *at == '-';
            at += is_negative;
            const uint8_t* first = at;
            uint64_t value = 0;
            for (unsigned digit; (digit = *at - unsigned{'0'}) <= 9; ++at)
                value = value * 10 + digit;
            const int64_t number = static_cast<int64_t>(value);
            if (at == first || at - first > MOST_DIGITS || number > LIMIT)
                return {row, line - begin};
            values.data()[column * width + row] = static_cast<T>(is_negative ? -number : number);
            while (is_blank(*at)) ++at;
            if (column + 1 < n_columns && *at++ != ',') return {row, line - begin};
        }
        at += *at == '\r';
        if (*at != '\n') return {row, line - begin};
        ++at;
        ++row;
    }
    return {row, -1};
}

// Parse one number, correctly rounded, into `value`; returns where it ends, or `at` if it is none.
//
// Up to 15 digits and a power of ten up to 22 are two exact doubles, so that one division or
// product rounds correctly (Clinger 1990); all others, and "nan" and "inf", are left to the
// library.
const uint8_t* parse_float(const uint8_t* at, const uint8_t* end, double& value) {
    static constexpr double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    constexpr int64_t MOST_DIGITS = 15, MOST_POWER = 22, MOST_EXPONENT = 9999;
    const uint8_t* begin = at;
    const bool is_negative = *at == '-';
    at += is_negative;
    uint64_t digits = 0;
    const uint8_t* first = at;
    unsigned digit;
    for (; (digit = *at - unsigned{'0'}) <= 9; ++at) digits = digits * 10 + digit;
    int64_t n_digits = at - first, power = 0;
    if (*at == '.') {
        first = ++at;
        for (; (digit = *at - unsigned{'0'}) <= 9; ++at) digits = digits * 10 + digit;
        power = first - at;
        n_digits += at - first;
    }
    if (n_digits > 0 && (*at == 'e' || *at == 'E')) {
        const uint8_t* mark = at++;
        const bool is_below = *at == '-';
        at += is_below || *at == '+';
        first = at;
        int64_t exponent = 0;
        for (; (digit = *at - unsigned{'0'}) <= 9; ++at)
            exponent = std::min<int64_t>(exponent * 10 + digit, MOST_EXPONENT);
        if (at == first) at = mark;
        power += is_below ? -exponent : exponent;
    }
    if (n_digits > 0 && n_digits <= MOST_DIGITS && -MOST_POWER <= power && power <= MOST_POWER) {
        const double whole = static_cast<double>(digits);
        const double size = power < 0 ? whole / POWERS[-power] : whole * POWERS[power];
        value = is_negative ? -size : size;
        return at;
    }
    const char* text = reinterpret_cast<const char*>(begin);
#ifdef __cpp_lib_to_chars
    const auto found = std::from_chars(text, reinterpret_cast<const char*>(end), value);
    if (found.ec == std::errc::invalid_argument) return begin;
    if (found.ec == std::errc()) return reinterpret_cast<const uint8_t*>(found.ptr);
    const std::string number(text, found.ptr);  // beyond the range: strtod gives zero or infinity
#else
    const std::string number(text,
                             std::find_if(text, reinterpret_cast<const char*>(end), [](char c) {
                                 return c == ',' || c == '\n' || c == '\r' || is_blank(c);
                             }));
#endif
    char* stop = nullptr;
    value = std::strtod(number.c_str(), &stop);
    return begin + (stop - number.c_str());
}

// Parse whole lines of numbers into the rows `values[r, :]`, as `parse_integers` does into columns.
std::tuple<int64_t, int64_t> parse_floats(In<uint8_t> text, Out<double, 2> values) {
    const int64_t n_bytes = size(text), n_columns = size(values, 1);
    const uint8_t* at = text.data();
    const uint8_t *begin = at, *end = at + n_bytes;
    expect(n_bytes == 0 || end[-1] == '\n', "the text must end with a newline");
    expect(n_columns > 0 && size(values) >= n_bytes / (2 * n_columns),
           "values is too small for the text");
    int64_t row = 0;
    double* out = values.data();
    while (at < end) {
        const uint8_t* line = at;
        for (int64_t column = 0; column < n_columns; ++column, ++out) {
            while (is_blank(*at)) ++at;
            const uint8_t* after = parse_float(at, end, *out);
            if (after == at) return {row, line - begin};
            at = after;
            while (is_blank(*at)) ++at;
            if (column + 1 < n_columns && *at++ != ',') return {row, line - begin};
        }
        at += *at == '\r';
        if (*at != '\n') return {row, line - begin};
        ++at;
        ++row;
    }
    return {row, -1};
}

// Check that edges have both ends in one graph, and graphs rise from `graph` on. Nodes count from
// 1. Returns the first edge that breaks the rules or -1, the graph of the last edge, and where the
// edges of that graph begin, or -1 where that is not among these.
std::tuple<int64_t, int64_t, int64_t> first_misplaced_edge(In<int32_t> sources, In<int32_t> targets,
                                                           int64_t graph, In<int64_t> node_ptr) {
    const int64_t* ptr = node_ptr.data();
    const int64_t n_graphs = size(node_ptr) - 1;
    expect(size(sources) == size(targets), "sources and targets differ in number");
    expect(0 <= graph && graph < n_graphs, "graph is not one of the graphs");
    int64_t first = ptr[graph] + 1, stop = ptr[graph + 1] + 1, began = -1;
    for (int64_t edge = 0; edge < size(sources); ++edge) {
        const int32_t source = sources.data()[edge], target = targets.data()[edge];
        if (source < first || source >= stop) {
            if (source < stop || source > ptr[n_graphs]) return {edge, graph, began};
            graph = std::upper_bound(ptr, ptr + n_graphs + 1, source - 1) - ptr - 1;
            first = ptr[graph] + 1;
            stop = ptr[graph + 1] + 1;
            began = edge;
        }
        if (target < first || target >= stop) return {edge, graph, began};
    }
    return {-1, graph, began};
}

// Neighbours of nodes, each once and rising: those of node i are `columns` from start[i] to before
// end[i].
struct SortedRows {
    std::vector<int64_t> start, end;
    std::vector<uint32_t> columns;
};

// Sort edges by target, then by source: linear, and without comparisons. `each` calls a function
// with the ends of every edge.
template <typename Each>
SortedRows sort_edges(int64_t n_nodes, int64_t n_edges, Each each) {
    const size_t n = static_cast<size_t>(n_nodes);
    std::vector<int64_t> column_end(n + 1, 0);
    SortedRows rows{std::vector<int64_t>(n + 1, 0), {}, std::vector<uint32_t>(n_edges)};
    each([&](uint32_t source, uint32_t target) {
        ++column_end[target + 1];
        ++rows.start[source + 1];
    });
    for (size_t node = 0; node < n; ++node) {
        column_end[node + 1] += column_end[node];
        rows.start[node + 1] += rows.start[node];
    }
    std::vector<uint32_t> by_column(n_edges);
    each([&](uint32_t source, uint32_t target) { by_column[column_end[target]++] = source; });
    rows.end.assign(rows.start.begin(), rows.start.end() - 1);
    int64_t position = 0;
    for (uint32_t column = 0; column < n; ++column) {
        for (; position < column_end[column]; ++position) {  // which was moved to the next column
            const uint32_t row = by_column[position];
            int64_t& end = rows.end[row];
            if (end == rows.start[row] || rows.columns[end - 1] != column)
                rows.columns[end++] = column;
        }
    }
    return rows;
}

// An edge that lacks the one back, or -1, -1. With rising rows, the next unmatched entry of a
// neighbour's row must be the way back.
std::pair<int64_t, int64_t> one_way_edge(const SortedRows& rows) {
    std::vector<int64_t> next(rows.start);
    for (size_t row = 0; row < rows.end.size(); ++row) {
        for (int64_t position = rows.start[row]; position < rows.end[row]; ++position) {
            const uint32_t column = rows.columns[position];
            const int64_t at = next[column]++;
            if (at == rows.end[column] || rows.columns[at] > row) return {row, column};
            if (rows.columns[at] < row) return {column, rows.columns[at]};
        }
    }
    return {-1, -1};
}

// Write the neighbours of the nodes of some graphs, sorted, each once and numbered within its
// graph, and how many each node has. Ends of edges count from 1 over the collection. Returns an
// edge that lacks the one back, counted from 0 over these graphs, or -1, -1; and how many
// neighbours were written.
std::tuple<int64_t, int64_t, int64_t> write_neighbours(In<int32_t> sources, In<int32_t> targets,
                                                       bool symmetrize, In<int64_t> node_ptr,
                                                       Out<int32_t> columns, Out<int64_t> lengths) {
    const int64_t *ptr = node_ptr.data(), n_graphs = size(node_ptr) - 1, n_edges = size(sources);
    const int64_t n_nodes = size(lengths), first_node = ptr[0] + 1;
    expect(size(targets) == n_edges, "sources and targets differ in number");
    expect(ptr[n_graphs] - ptr[0] == n_nodes, "lengths has a number for every node");
    const auto each = [&](auto visit) {
        for (int64_t edge = 0; edge < n_edges; ++edge) {
            const uint32_t source = static_cast<uint32_t>(sources.data()[edge] - first_node);
            const uint32_t target = static_cast<uint32_t>(targets.data()[edge] - first_node);
            visit(source, target);
            if (symmetrize) visit(target, source);
        }
    };
    bool is_inside = true;
    each([&](uint32_t source, uint32_t target) {
        is_inside &= (source < n_nodes) & (target < n_nodes);
    });
    expect(is_inside, "an edge has an end beyond the nodes");
    const SortedRows rows = sort_edges(n_nodes, symmetrize ? 2 * n_edges : n_edges, each);
    const auto [source, target] = one_way_edge(rows);
    if (source >= 0) return {source, target, 0};
    int64_t n_written = 0;
    for (int64_t node = 0; node < n_nodes; ++node)
        n_written += lengths.data()[node] = rows.end[node] - rows.start[node];
    expect(n_written <= size(columns), "columns is too small for the edges");
    int32_t* out = columns.data();
    for (int64_t graph = 0; graph < n_graphs; ++graph) {
        const int64_t offset = ptr[graph] - ptr[0];
        for (int64_t row = offset; row < ptr[graph + 1] - ptr[0]; ++row)
            for (int64_t position = rows.start[row]; position < rows.end[row]; ++position)
                *out++ = static_cast<int32_t>(rows.columns[position] - offset);
    }
    return {-1, -1, n_written};
}

// Position of every edge, whose ends count from 1, among the neighbours of its source.
// `first_nodes` is the first node of the graph of every node.
void entries_of_edges(In<int32_t> sources, In<int32_t> targets, In<int64_t> first_nodes,
                      In<int64_t> indptr, In<int32_t> indices, Out<int64_t> entries) {
    const int64_t n_nodes = size(first_nodes), *ptr = indptr.data();
    expect(size(sources) == size(entries) && size(targets) == size(entries),
           "sources, targets and entries differ in number");
    expect(size(indptr) == n_nodes + 1 && ptr[n_nodes] <= size(indices),
           "indptr has one number more than there are nodes, and ends with the neighbours");
    for (int64_t edge = 0; edge < size(entries); ++edge) {
        const int64_t source = sources.data()[edge] - 1;
        expect(0 <= source && source < n_nodes, "an edge has an end beyond the nodes");
        const int64_t target = targets.data()[edge] - 1 - first_nodes.data()[source];
        const int32_t* own = indices.data();
        entries.data()[edge] =
            std::lower_bound(own + ptr[source], own + ptr[source + 1], target) - own;
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "parse_integers", parse_integers<int32_t>);
    define(m, "parse_integers", parse_integers<int64_t>);
    define(m, "parse_floats", parse_floats);
    define(m, "first_misplaced_edge", first_misplaced_edge);
    define(m, "write_neighbours", write_neighbours);
    define(m, "entries_of_edges", entries_of_edges);
});

}  // namespace retgk
