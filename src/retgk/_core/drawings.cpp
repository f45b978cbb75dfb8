// Places of nodes for drawings, and the nearest of many graphs on a map.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "arrays.hpp"
#include "graphs.hpp"

namespace retgk {

namespace {

constexpr int ROUNDS = 40;
constexpr double LAST_STEP = 0.05;

struct Place {
    double x, y;
};

// Xorshift: sixty-four bits after others.
class Bits {
public:
    uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        return state_ ^= state_ << 17;
    }

    double fraction() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

private:
    uint64_t state_ = 0x9E3779B97F4A7C15u;
};

// Steps between all nodes; between components, two more than the most steps within one.
void write_steps(const int64_t* indptr, const int32_t* indices, int64_t n,
                 std::vector<float>& steps, std::vector<int64_t>& queue) {
    steps.assign(n * n, -1.0f);
    queue.resize(n);
    float most = 0;
    for (int64_t source = 0; source < n; ++source) {
        float* own = steps.data() + source * n;
        own[source] = 0;
        queue[0] = source;
        int64_t tail = 1;
        for (int64_t head = 0; head < tail; ++head) {
            const int64_t node = queue[head];
            for (int64_t entry = indptr[node]; entry < indptr[node + 1]; ++entry) {
                const int32_t other = indices[entry];
                if (own[other] >= 0) continue;
                own[other] = own[node] + 1;
                queue[tail++] = other;
            }
        }
        most = std::max(most, own[queue[tail - 1]]);
    }
    for (float& value : steps)
        if (value < 0) value = most + 2;
}

// Move pairs towards their distance, in random order, by steps that fall over the rounds.
void place_by_stress(const std::vector<float>& steps, int64_t n, Place* places) {
    Bits bits;
    for (int64_t i = 0; i < n; ++i) {
        places[i].x = bits.fraction();
        places[i].y = bits.fraction();
    }
    const double largest = std::max(1.0f, *std::max_element(steps.begin(), steps.end()));
    std::vector<std::pair<int32_t, int32_t>> pairs;
    pairs.reserve(n * (n - 1) / 2);
    for (int32_t i = 0; i < n; ++i) {
        places[i].x *= largest;
        places[i].y *= largest;
        for (int32_t j = 0; j < i; ++j) pairs.emplace_back(i, j);
    }
    // steps fall from those that set the farthest pair right to a twentieth for the nearest
    const double fall = std::log(LAST_STEP / (largest * largest)) / (ROUNDS - 1);
    for (int round = 0; round < ROUNDS; ++round) {
        const double rate = largest * largest * std::exp(fall * round);
        for (size_t k = pairs.size() - 1; k > 0; --k)
            std::swap(pairs[k], pairs[bits.next() % (k + 1)]);
        for (const auto& [i, j] : pairs) {
            const float wanted = steps[i * n + j];
            const double share = std::min(1.0, rate / (wanted * wanted));
            const double dx = places[i].x - places[j].x, dy = places[i].y - places[j].y;
            const double gap = std::max(std::sqrt(dx * dx + dy * dy), 1e-9);
            const double move = 0.5 * share * (gap - wanted) / gap;
            places[i].x -= move * dx;
            places[i].y -= move * dy;
            places[j].x += move * dx;
            places[j].y += move * dy;
        }
    }
}

// Centre the nodes, and turn the direction of their largest spread to the horizontal.
void turn(Place* places, int64_t n) {
    Place sum{0, 0};
    for (int64_t i = 0; i < n; ++i) {
        sum.x += places[i].x;
        sum.y += places[i].y;
    }
    double xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < n; ++i) {
        places[i].x -= sum.x / static_cast<double>(n);
        places[i].y -= sum.y / static_cast<double>(n);
        xx += places[i].x * places[i].x;
        yy += places[i].y * places[i].y;
        xy += places[i].x * places[i].y;
    }
    const double angle = 0.5 * std::atan2(2 * xy, xx - yy);
    const double cosine = std::cos(angle), sine = std::sin(angle);
    for (int64_t i = 0; i < n; ++i) {
        const auto [x, y] = places[i];
        places[i] = {cosine * x + sine * y, cosine * y - sine * x};
    }
}

// Place the nodes of the graphs from `first` to before `last`.
void place_nodes(int64_t first, int64_t last, In<int64_t> node_ptr, In<int64_t> indptr,
                 In<int32_t> indices, Out<double, 2> places) {
    const Graphs graphs = some_graphs(first, last, node_ptr, indptr, indices);
    expect(size(places) == size(indptr) - 1 && size(places, 1) == 2, "a node has two coordinates");
    std::vector<float> steps;
    std::vector<int64_t> queue;
    std::vector<Place> own;
    for (int64_t g = first; g < last; ++g) {
        const int64_t start = graphs.node_ptr[g], n = graphs.n_nodes(g);
        if (n < 2) continue;
        own.resize(n);
        write_steps(graphs.indptr + start, graphs.indices, n, steps, queue);
        place_by_stress(steps, n, own.data());
        turn(own.data(), n);
        for (int64_t i = 0; i < n; ++i) {
            places.data()[2 * (start + i)] = own[i].x;
            places.data()[2 * (start + i) + 1] = own[i].y;
        }
    }
}

// Columns of the smallest numbers of every row, in order; of equal ones the first. One pass over
// a long row, most of whose numbers are above those that are kept: quicker than a partition.
template <typename T>
void find_smallest(In<T, 2> values, Out<int64_t, 2> found) {
    const int64_t n_columns = size(values, 1), count = size(found, 1);
    expect(size(found) == size(values) && count <= n_columns, "found has some columns of each row");
    if (count == 0) return;
    std::vector<std::pair<T, int64_t>> kept;
    kept.reserve(4 * count);
    for (int64_t row = 0; row < size(values); ++row) {
        const T* own = values.data() + row * n_columns;
        T largest = std::numeric_limits<T>::infinity();
        kept.clear();
        for (int64_t column = 0; column < n_columns; ++column) {
            if (!(own[column] < largest) && static_cast<int64_t>(kept.size()) >= count) continue;
            kept.emplace_back(own[column], column);
            if (kept.size() < kept.capacity()) continue;
            std::nth_element(kept.begin(), kept.begin() + (count - 1), kept.end());
            kept.resize(count);
            largest = kept[count - 1].first;
        }
        std::sort(kept.begin(), kept.end());
        for (int64_t k = 0; k < count; ++k) found.data()[row * count + k] = kept[k].second;
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "place_nodes", place_nodes);
    define(m, "find_smallest", find_smallest<float>);
    define(m, "find_smallest", find_smallest<double>);
});

}  // namespace retgk
