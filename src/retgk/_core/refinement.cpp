// Neighbourhoods of nodes: a row for every node, and the number of every different row.
//
// The row of a node is its own colour and, in order, the pairs of edge label and colour of all its
// neighbours. Rows are found again by hashes, but told apart by all that is in them: two nodes get
// the same number if and only if their rows are equal.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>

#include "graphs.hpp"
#include "hashing.hpp"

namespace retgk {

namespace {

// Bits of an entry of a row that hold the edge label; the others hold the colour.
constexpr int EDGE_BITS = 20;
// Entries for each node from which on it pays to sort the nodes of a graph instead of all rows.
constexpr int64_t MANY_EDGES = 8;

// What an entry adds to the sum of its row, which does not depend on their order.
uint64_t entry_key(int64_t entry) {
    return mixed(static_cast<uint64_t>(entry) + 0xD1B54A32D192ED03u);
}

uint64_t row_hash(int64_t own, uint64_t total) {
    return mixed(mixed(static_cast<uint64_t>(own) + 0x9E3779B97F4A7C15u) ^ total);
}

// Most rows are short.
void sort_entries(int64_t* first, int64_t* last) {
    if (last - first > 24) {
        std::sort(first, last);
        return;
    }
    for (int64_t* next = first + 1; next < last; ++next) {
        const int64_t value = *next;
        int64_t* place = next;
        for (; place > first && place[-1] > value; --place) *place = place[-1];
        *place = value;
    }
}

template <bool HAS_EDGES>
void fill_rows_of_graph(const Graphs& graphs, int64_t g, const int64_t* colours,
                        const int32_t* edge_codes, int64_t* __restrict entries,
                        uint64_t* __restrict hashes) {
    const int64_t* own = colours + graphs.node_ptr[g];
    for (int64_t node = graphs.node_ptr[g]; node < graphs.node_ptr[g + 1]; ++node) {
        const int64_t start = graphs.indptr[node], stop = graphs.indptr[node + 1];
        uint64_t total = 0;
        for (int64_t i = start; i < stop; ++i) {
            int64_t entry = own[graphs.indices[i]] << EDGE_BITS;
            if constexpr (HAS_EDGES) entry |= edge_codes[i];
            entries[i] = entry;
            total += entry_key(entry);
        }
        sort_entries(entries + start, entries + stop);
        hashes[node] = row_hash(colours[node], total);
    }
}

// The same for a graph without edge labels. Nodes are taken in the order of their colours, and each
// is added to the rows of its neighbours, which are then in order too.
struct ByColour {
    std::vector<std::pair<int64_t, int64_t>> nodes;
    std::vector<int64_t> ends;
    std::vector<uint64_t> totals;

    void fill_rows_of_graph(const Graphs& graphs, int64_t g, const int64_t* colours,
                            int64_t* entries, uint64_t* hashes) {
        const int64_t first = graphs.node_ptr[g], n = graphs.n_nodes(g);
        nodes.resize(n);
        for (int64_t node = 0; node < n; ++node) nodes[node] = {colours[first + node], node};
        std::sort(nodes.begin(), nodes.end());
        ends.assign(graphs.indptr + first, graphs.indptr + first + n);
        totals.assign(n, 0);
        for (const auto& [colour, node] : nodes) {
            const int64_t entry = colour << EDGE_BITS;
            const uint64_t key = entry_key(entry);
            const int64_t stop = graphs.indptr[first + node + 1];
            for (int64_t i = graphs.indptr[first + node]; i < stop; ++i) {
                const int32_t other = graphs.indices[i];
                entries[ends[other]++] = entry;
                totals[other] += key;
            }
        }
        for (int64_t node = 0; node < n; ++node)
            hashes[first + node] = row_hash(colours[first + node], totals[node]);
    }
};

// Write the rows of the nodes of some graphs, and a hash of each; `edge_codes` is empty if edges
// have no labels.
void fill_rows(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr, In<int64_t> indptr,
               In<int32_t> indices, In<int64_t> colours, In<int32_t> edge_codes,
               Out<int64_t> entries, Out<uint64_t> hashes) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect(size(colours) == size(indptr) - 1 && size(hashes) == size(colours),
           "every node has a colour and a hash");
    expect(size(entries) == size(indices) &&
               (size(edge_codes) == 0 || size(edge_codes) == size(indices)),
           "every neighbour has an entry, and a code or none has");
    ByColour by_colour;
    for (int64_t g = first_graph; g < last_graph; ++g) {
        const int64_t n_entries =
            graphs.indptr[graphs.node_ptr[g + 1]] - graphs.indptr[graphs.node_ptr[g]];
        if (size(edge_codes) > 0)
            fill_rows_of_graph<true>(graphs, g, colours.data(), edge_codes.data(), entries.data(),
                                     hashes.data());
        else if (n_entries <= MANY_EDGES * graphs.n_nodes(g))
            fill_rows_of_graph<false>(graphs, g, colours.data(), nullptr, entries.data(),
                                      hashes.data());
        else
            by_colour.fill_rows_of_graph(graphs, g, colours.data(), entries.data(), hashes.data());
    }
}

struct Rows {
    const int64_t *own, *ptr, *entries;
    int64_t n;

    Rows(const In<int64_t>& own, const In<int64_t>& ptr, const In<int64_t>& entries)
        : own(own.data()), ptr(ptr.data()), entries(entries.data()), n(size(own)) {
        expect(size(ptr) == n + 1 && this->ptr[0] == 0 && this->ptr[n] <= size(entries),
               "ptr rises from 0 to the number of entries, one more than own");
    }

    uint64_t hash(int64_t row) const {
        uint64_t total = 0;
        for (int64_t i = ptr[row]; i < ptr[row + 1]; ++i) total += entry_key(entries[i]);
        return row_hash(own[row], total);
    }

    bool has(int64_t row, const Rows& others, int64_t other) const {
        return own[row] == others.own[other] &&
               std::equal(entries + ptr[row], entries + ptr[row + 1],
                          others.entries + others.ptr[other],
                          others.entries + others.ptr[other + 1]);
    }
};

// Number rows: those that are known, which are all different, by their place, the others in order
// of appearance after them. `firsts` is filled with the first row of every new number; gives how
// many there are.
int64_t number_rows(In<int64_t> known_own, In<int64_t> known_ptr, In<int64_t> known_entries,
                    In<int64_t> own, In<int64_t> ptr, In<int64_t> entries, In<uint64_t> hashes,
                    Out<int64_t> numbers, Out<int64_t> firsts) {
    const Rows known(known_own, known_ptr, known_entries), rows(own, ptr, entries);
    expect(size(hashes) == rows.n && size(numbers) == rows.n && size(firsts) == rows.n,
           "every row has a hash and a number, and room to be new");
    Numbering numbering(known.n + rows.n);
    for (int64_t k = 0; k < known.n; ++k)
        numbering.number(known.hash(k), [](int64_t) { return false; });
    for (int64_t row = 0; row < rows.n; ++row) {
        const int64_t n_before = numbering.size();
        const int64_t number = numbering.number(hashes.data()[row], [&](int64_t other) {
            return other < known.n ? rows.has(row, known, other)
                                   : rows.has(row, rows, firsts.data()[other - known.n]);
        });
        numbers.data()[row] = number;
        if (number == n_before) firsts.data()[number - known.n] = row;
    }
    return numbering.size() - known.n;
}

// Write the entries of some rows one after the other.
void copy_entries(In<int64_t> ptr, In<int64_t> entries, In<int64_t> rows, Out<int64_t> copied) {
    int64_t* place = copied.data();
    const int64_t* stop = place + size(copied);
    for (int64_t i = 0; i < size(rows); ++i) {
        const int64_t row = rows.data()[i];
        expect(0 <= row && row + 1 < size(ptr), "rows has a number out of range");
        const int64_t first = ptr.data()[row], last = ptr.data()[row + 1];
        expect(0 <= first && last <= size(entries) && last - first <= stop - place,
               "no room for the entries");
        place = std::copy(entries.data() + first, entries.data() + last, place);
    }
}

// Write keys of neighbourhoods of the nodes of some graphs, made of the keys of their nodes. The
// sum over neighbours does not depend on their order. `edge_keys` is empty if edges have no labels.
void fill_keys(int64_t first_graph, int64_t last_graph, In<int64_t> node_ptr, In<int64_t> indptr,
               In<int32_t> indices, In<uint64_t> keys, In<uint64_t> edge_keys,
               Out<uint64_t> refined) {
    const Graphs graphs = some_graphs(first_graph, last_graph, node_ptr, indptr, indices);
    expect(size(keys) == size(indptr) - 1 && size(refined) == size(keys),
           "every node has a key before and after");
    expect(size(edge_keys) == 0 || size(edge_keys) == size(indices),
           "every edge has a key, or none has");
    const bool has_edges = size(edge_keys) > 0;
    for (int64_t g = first_graph; g < last_graph; ++g) {
        const uint64_t* own = keys.data() + graphs.node_ptr[g];
        for (int64_t node = graphs.node_ptr[g]; node < graphs.node_ptr[g + 1]; ++node) {
            const int64_t start = graphs.indptr[node], stop = graphs.indptr[node + 1];
            uint64_t total = static_cast<uint64_t>(stop - start);
            for (int64_t i = start; i < stop; ++i) {
                uint64_t entry = own[graphs.indices[i]];
                if (has_edges)
                    entry = mixed(entry ^ mixed(edge_keys.data()[i] + 0x9E3779B97F4A7C15u));
                total += mixed(entry + 0xD1B54A32D192ED03u);
            }
            refined.data()[node] = mixed(mixed(keys.data()[node] + 0x8CB92BA72F3D8DD7u) ^ total);
        }
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    m.attr("EDGE_BITS") = EDGE_BITS;
    define(m, "fill_rows", fill_rows);
    define(m, "number_rows", number_rows);
    define(m, "copy_entries", copy_entries);
    define(m, "fill_keys", fill_keys);
});

}  // namespace retgk
