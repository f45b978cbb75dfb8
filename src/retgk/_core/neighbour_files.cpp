// Files of usearch, whose nodes are checked before that library reads them.
#include "arrays.hpp"

namespace retgk {

namespace {

// Little-endian number of some bytes, at any address.
template <typename T>
T number_at(const uint8_t* bytes) {
    T value = 0;
    for (size_t place = 0; place < sizeof(T); ++place)
        value = static_cast<T>(value | static_cast<T>(T{bytes[place]} << (8 * place)));
    return value;
}

// The first node with a wrong key, level or neighbour; -1 if all are as they must be. Every node
// begins at starts[node]: its key, its level, and for each level a number of neighbours and room
// for as many as there may be, `base` on the lowest level and `own` above.
int64_t first_bad_node(In<uint8_t> content, In<int64_t> starts, In<int64_t> levels, int64_t base,
                       int64_t own) {
    const int64_t n = size(levels);
    expect(size(starts) == n && base >= 0 && own >= 0, "every node has a level and a start");
    for (int64_t node = 0; node < n; ++node) {
        const int64_t level = levels.data()[node], start = starts.data()[node];
        const int64_t n_bytes = 10 + 4 + 4 * base + level * (4 + 4 * own);
        expect(level >= 0 && start >= 0 && start + n_bytes <= size(content),
               "a node ends after the file");
        const uint8_t* at = content.data() + start;
        if (number_at<uint64_t>(at) != static_cast<uint64_t>(node) ||
            number_at<uint16_t>(at + 8) != level)
            return node;
        at += 10;
        for (int64_t here = 0; here <= level; ++here) {
            const int64_t most = here == 0 ? base : own, count = number_at<uint32_t>(at);
            if (count > most) return node;
            for (int64_t place = 0; place < count; ++place) {
                const int64_t neighbour = number_at<uint32_t>(at + 4 + 4 * place);
                if (neighbour >= n || levels.data()[neighbour] < here) return node;
            }
            at += 4 + 4 * most;
        }
    }
    return -1;
}

}  // namespace

static const Family FAMILY([](nb::module_& m) { define(m, "first_bad_node", first_bad_node); });

}  // namespace retgk
