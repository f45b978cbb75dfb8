// The loops of fourier_means.hpp, for one level of instructions.
#include "fourier_means.hpp"

#include "hashing.hpp"
#include "panel_products.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

// The nearest integer. Machines without an instruction for it add a number whose last bit counts
// ones; beyond that number all are integers.
template <typename T>
inline T nearest(T value) {
#if defined(__x86_64__) && !defined(__SSE4_1__)
    constexpr T ones = T(int64_t(1) << (sizeof(T) == 4 ? 23 : 52));
    const T size = magnitude(value), whole = (size + ones) - ones;
    const T rounded = size < ones ? whole : size;
    return value < 0 ? -rounded : rounded;
#else
    return sizeof(T) == 4 ? T(__builtin_rintf(float(value))) : T(__builtin_rint(double(value)));
#endif
}

// cos(2 pi t): to 3e-7 in float, 6e-16 in double.
template <typename T>
inline T cosine_of_turns(T t) {
    constexpr auto& c = Polynomials<T>::sine;
    const T u = T(0.25) - magnitude(t - nearest(t)), v = u * u, w = v * v;
    // pairs of terms (Estrin's scheme) make short chains of dependent operations
    const T low = (c[0] + c[1] * v) + w * (c[2] + c[3] * v);
    T high = c[4];
    if constexpr (sizeof(T) == 8) high = (c[4] + c[5] * v) + w * (c[6] + c[7] * v);
    return u * (low + (w * w) * high);
}

template <typename T>
__attribute__((noinline)) void replace_by_cosines(T* __restrict turns, int64_t n) {
    for (int64_t i = 0; i < n; ++i) turns[i] = cosine_of_turns(turns[i]);
}

// Replace angles by their cosines, and write their sines.
template <typename T>
__attribute__((noinline)) void write_waves(T* __restrict turns, T* __restrict sines, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const T t = turns[i];
        turns[i] = cosine_of_turns(t);
        sines[i] = cosine_of_turns(t - T(0.25));
    }
}

// Copy the rows of n nodes to strips, after a 1 that the phases are multiplied by.
template <typename T, typename NodeAt>
void load_points(const NodeBlocks& blocks, NodeAt node_at, int64_t n, T* points) {
    const int64_t n_columns = 1 + blocks.n_first + blocks.n_second;
    for (int64_t i = 0; i < n; ++i) {
        T* own = row_in_strips(points, i, n_columns);
        const double* first = blocks.first + node_at(i) * blocks.n_first;
        const double* second = blocks.second + node_at(i) * blocks.n_second;
        own[0] = 1;
        own += STRIP;
        for (int64_t k = 0; k < blocks.n_first; ++k) own[k * STRIP] = static_cast<T>(first[k]);
        own += blocks.n_first * STRIP;
        for (int64_t k = 0; k < blocks.n_second; ++k) own[k * STRIP] = static_cast<T>(second[k]);
    }
}

template <typename T, int64_t ROWS>
__attribute__((noinline)) void write_product(const T* strip, const T* panel, int64_t n, T* out,
                                             int64_t stride) {
    Sums<T, ROWS> total;
    multiply<T, ROWS>(strip, STRIP, panel, n, total);
    for (int64_t j = 0; j < ROWS; ++j)
        for (int64_t p = 0; p < PARTS; ++p)
            reinterpret_cast<typename Vectors<T>::Vector*>(out + j * stride)[p] = total[j][p];
}

// Angles of n points, and of what fills up the last third of a strip; strides are those of panels
// and points.
template <typename T>
void write_angles(const FourierMap<T>& map, const T* points, int64_t n, int64_t panel_stride,
                  int64_t point_stride, T* angles) {
    for (int64_t panel = 0; panel < map.n_panels; ++panel) {
        const T* own = map.panels + panel * map.n_columns * PANEL<T>;
        for (int64_t i = 0; i < n; i += STRIP) {
            const auto write = 3 * (n - i) > 2 * STRIP ? write_product<T, STRIP>
                               : 3 * (n - i) > STRIP   ? write_product<T, STRIP * 2 / 3>
                                                       : write_product<T, STRIP / 3>;
            write(points + i * map.n_columns, own, map.n_columns,
                  angles + panel * panel_stride + i * point_stride, point_stride);
        }
    }
}

// sums = sum_i w_i rows[i], or added to them. Sums over rows stay in registers.
template <typename T, bool IS_NEW>
__attribute__((noinline)) void add_weighted(const T* __restrict rows, int64_t width,
                                            const double* __restrict weights, int64_t n,
                                            double* __restrict sums) {
    using Vector = Vectors<double>::Vector;
    using Half = typename Vectors<T>::Half;
    constexpr int64_t N = PANEL<T> / Vectors<double>::LANES, GROUP = N < 4 ? N : 4;
    auto* out = reinterpret_cast<Vector*>(sums);
    for (int64_t k = 0; k < width / Vectors<double>::LANES; k += GROUP) {
        Vector total[GROUP];
        for (int64_t p = 0; p < GROUP; ++p) total[p] = IS_NEW ? Vector{} : out[k + p];
        for (int64_t i = 0; i < n; ++i) {
            const Half* own = reinterpret_cast<const Half*>(rows + i * width) + k;
            for (int64_t p = 0; p < GROUP; ++p)
                total[p] += weights[i] * __builtin_convertvector(own[p], Vector);
        }
        for (int64_t p = 0; p < GROUP; ++p) out[k + p] = total[p];
    }
}

template <typename T>
void add_rows(const T* rows, int64_t width, const double* weights, int64_t n, bool is_new,
              double* sums) {
    const auto add = is_new ? add_weighted<T, true> : add_weighted<T, false>;
    add(rows, width, weights, n, sums);
}

template <typename T>
void write_scaled(const double* __restrict sums, double scale, int64_t n, T* __restrict out) {
    for (int64_t k = 0; k < n; ++k) out[k] = static_cast<T>(scale * sums[k]);
}

// Whether a group ends before node i.
inline bool is_end(const Nodes& w, int64_t i) { return i == w.n || w.groups[i] != w.groups[i - 1]; }

template <typename T>
void fill_joint_means(const JointMeans<T>& w) {
    const int64_t width = w.map.n_panels * PANEL<T>;
    const double scale = __builtin_sqrt(2.0 / static_cast<double>(w.n_features));
    bool is_new = true;
    for (int64_t begin = 0; begin < w.nodes.n; begin += BLOCK_NODES) {
        const int64_t n = smaller(BLOCK_NODES, w.nodes.n - begin);
        const int64_t* nodes = w.nodes.nodes + begin;
        load_points(w.blocks, [=](int64_t i) { return nodes[i]; }, n, w.points);
        write_angles(w.map, w.points, n, PANEL<T>, width, w.waves);
        replace_by_cosines(w.waves, n * width);
        for (int64_t i = begin; i < begin + n;) {
            int64_t end = i + 1;
            while (end < begin + n && !is_end(w.nodes, end)) ++end;
            add_rows(w.waves + (i - begin) * width, width, w.nodes.weights + i, end - i, is_new,
                     w.sums);
            is_new = is_end(w.nodes, end);
            if (is_new)
                write_scaled(w.sums, scale, w.n_features, w.out + w.nodes.groups[i] * w.n_features);
            i = end;
        }
    }
}

// Rows of the first map that are multiplied together with a panel of the second.
constexpr int64_t OUTER = RETGK_BYTES / 8;

// What becomes of the sum over a block of nodes: it is the whole sum of its group, scaled; or the
// first part of it, or another one.
enum Part { WHOLE, FIRST, NEXT };

template <typename T, Part PART>
__attribute__((noinline)) void add_outer_products(const TensorMeans<T>& w, int64_t n, double scale,
                                                  T* out) {
    const int64_t width = w.map_c.n_panels * PANEL<T>;
    for (int64_t r = 0; r < w.n_features_0; r += OUTER) {
        const T* left = w.phi_0 + r / PANEL<T> * BLOCK_ROOM * PANEL<T> + r % PANEL<T>;
        for (int64_t panel = 0; panel < w.map_c.n_panels; ++panel) {
            Sums<T, OUTER> total;
            multiply<T, OUTER>(left, PANEL<T>, w.phi_c + panel * BLOCK_ROOM * PANEL<T>, n, total);
            const int64_t first = panel * PANEL<T>;
            const int64_t n_rows = smaller(OUTER, w.n_features_0 - r);
            const int64_t n_columns = smaller(PANEL<T>, w.n_features_c - first);
            for (int64_t j = 0; j < OUTER; ++j) {
                T own[PANEL<T>];
                __builtin_memcpy(own, total[j], sizeof(own));
                double* __restrict sums = w.sums + (r + j) * width + first;
                T* __restrict result = out + (r + j) * w.n_features_c + first;
                if (PART == NEXT)
                    for (int64_t k = 0; k < PANEL<T>; ++k) sums[k] += own[k];
                else if (PART == FIRST)
                    for (int64_t k = 0; k < PANEL<T>; ++k) sums[k] = own[k];
                else if (n_columns == PANEL<T> && j < n_rows)
                    for (int64_t k = 0; k < PANEL<T>; ++k)
                        result[k] = static_cast<T>(scale * own[k]);
                else if (j < n_rows)
                    for (int64_t k = 0; k < n_columns; ++k)
                        result[k] = static_cast<T>(scale * own[k]);
            }
        }
    }
}

// Cosines of n points, panel after panel.
template <typename T>
void write_panels(const FourierMap<T>& map, const T* points, int64_t n, T* phi) {
    write_angles(map, points, n, BLOCK_ROOM * PANEL<T>, PANEL<T>, phi);
    for (int64_t panel = 0; panel < map.n_panels; ++panel)
        replace_by_cosines(phi + panel * BLOCK_ROOM * PANEL<T>, n * PANEL<T>);
}

// Multiply the features of every point, in panels, by its weight.
template <typename T>
__attribute__((noinline)) void weigh(T* phi, int64_t n_panels, const double* weights, int64_t n) {
    for (int64_t panel = 0; panel < n_panels; ++panel)
        for (int64_t i = 0; i < n; ++i) {
            T* own = phi + (panel * BLOCK_ROOM + i) * PANEL<T>;
            for (int64_t k = 0; k < PANEL<T>; ++k) own[k] = static_cast<T>(own[k] * weights[i]);
        }
}

template <typename T>
void fill_tensor_means(const TensorMeans<T>& w) {
    const int64_t size = w.n_features_0 * w.n_features_c, width = w.map_c.n_panels * PANEL<T>;
    const double scale = 2.0 / __builtin_sqrt(static_cast<double>(size));
    bool is_first = true;
    for (int64_t begin = 0; begin < w.nodes.n;) {
        int64_t end = begin + 1;
        while (end < begin + BLOCK_NODES && !is_end(w.nodes, end)) ++end;
        const int64_t n = end - begin, *nodes = w.nodes.nodes + begin;
        const auto node_at = [=](int64_t i) { return nodes[i]; };
        load_points(NodeBlocks{w.blocks.first, nullptr, w.blocks.n_first, 0}, node_at, n,
                    w.points_0);
        load_points(NodeBlocks{w.blocks.second, nullptr, w.blocks.n_second, 0}, node_at, n,
                    w.points_c);
        write_panels(w.map_0, w.points_0, n, w.phi_0);
        write_panels(w.map_c, w.points_c, n, w.phi_c);
        weigh(w.phi_0, w.map_0.n_panels, w.nodes.weights + begin, n);
        const bool is_last = is_end(w.nodes, end);
        T* out = w.out + w.nodes.groups[begin] * size;
        const auto add = is_first && is_last ? add_outer_products<T, WHOLE>
                         : is_first          ? add_outer_products<T, FIRST>
                                             : add_outer_products<T, NEXT>;
        add(w, n, scale, out);
        if (is_last && !is_first)
            for (int64_t r = 0; r < w.n_features_0; ++r)
                write_scaled(w.sums + r * width, scale, w.n_features_c, out + r * w.n_features_c);
        is_first = is_last;
        begin = end;
    }
}

inline bool same_keys(const Turns& w, int64_t i, int64_t j) {
    int64_t level = 0;
    while (level < w.n_levels && w.keys[i * w.n_levels + level] == w.keys[j * w.n_levels + level])
        ++level;
    return level == w.n_levels;
}

// What turns a pair of a cosine and a sine: sums over levels of quarter turns. cos(a + q / 4 turn)
// is cos a, -sin a, -cos a, sin a for q = 0, 1, 2, 3: the cosine times `along`, the sine times
// `across`.
constexpr uint64_t WORD_STEP = 0x9E3779B97F4A7C15u;  // SplitMix64's

template <bool IS_FIRST>
__attribute__((noinline)) void add_turns(uint64_t key, double share, int64_t n,
                                         double* __restrict along, double* __restrict across) {
    for (int64_t word = 0; word * TURNS_PER_WORD < n; ++word) {
        const uint64_t bits = mixed(key + static_cast<uint64_t>(word + 1) * WORD_STEP);
        for (int half = 0; half < 2; ++half) {
            const auto part = static_cast<uint32_t>(bits >> (32 * half));
            const int64_t first = word * TURNS_PER_WORD + half * 16;
            for (uint32_t k = 0; k < 16; ++k) {
                const auto code = static_cast<int32_t>(part >> (2 * k)) & 3, odd = code & 1;
                const int32_t sign = 1 - 2 * ((code >> 1) ^ odd);
                const double x = share * ((1 - odd) * sign), y = share * (odd * sign);
                along[first + k] = IS_FIRST ? x : along[first + k] + x;
                across[first + k] = IS_FIRST ? y : across[first + k] + y;
            }
        }
    }
}

void write_turns(const Turns& w, int64_t node, int64_t n) {
    if (w.n_levels == 0)
        for (int64_t k = 0; k < n; ++k) w.along[k] = w.across[k] = 0.0;
    for (int64_t level = 0; level < w.n_levels; ++level) {
        const auto add = level == 0 ? add_turns<true> : add_turns<false>;
        add(w.keys[node * w.n_levels + level], w.shares[level], n, w.along, w.across);
    }
}

// Turn cosines and sines, and add them to sums, or begin these.
template <bool IS_NEW>
__attribute__((noinline)) void add_turned(const double* __restrict along,
                                          const double* __restrict across,
                                          const double* __restrict cosines,
                                          const double* __restrict sines, int64_t n,
                                          double* __restrict sums, double* __restrict sine_sums) {
    for (int64_t k = 0; k < n; ++k) {
        const double x = along[k] * cosines[k] + across[k] * sines[k];
        const double y = along[k] * sines[k] - across[k] * cosines[k];
        sums[k] = IS_NEW ? x : sums[k] + x;
        sine_sums[k] = IS_NEW ? y : sine_sums[k] + y;
    }
}

template <typename T>
void fill_phase_means(const PhaseMeans<T>& w) {
    const int64_t width = w.map.n_panels * PANEL<T>, half = (w.n_features + 1) / 2;
    const double scale = __builtin_sqrt(2.0 / static_cast<double>(w.n_features));
    bool is_new_run = true, is_new = true;
    for (int64_t begin = 0; begin < w.nodes.n; begin += BLOCK_NODES) {
        const int64_t n = smaller(BLOCK_NODES, w.nodes.n - begin);
        const int64_t* nodes = w.nodes.nodes;
        load_points(w.blocks, [=](int64_t i) { return nodes[begin + i]; }, n, w.points);
        write_angles(w.map, w.points, n, PANEL<T>, width, w.cosines);
        write_waves(w.cosines, w.sines, n * width);
        for (int64_t i = begin; i < begin + n;) {
            // nodes of the same labels that follow each other are turned together
            const auto is_run_end = [&](int64_t end) {
                return is_end(w.nodes, end) || !same_keys(w.turns, nodes[end - 1], nodes[end]);
            };
            int64_t end = i + 1;
            while (end < begin + n && !is_run_end(end)) ++end;
            const double* weights = w.nodes.weights + i;
            const int64_t first = (i - begin) * width;
            add_rows(w.cosines + first, width, weights, end - i, is_new_run, w.run_cosines);
            add_rows(w.sines + first, width, weights, end - i, is_new_run, w.run_sines);
            is_new_run = is_run_end(end);
            if (is_new_run) {
                write_turns(w.turns, nodes[i], width);
                const auto add = is_new ? add_turned<true> : add_turned<false>;
                add(w.turns.along, w.turns.across, w.run_cosines, w.run_sines, width, w.cosine_sums,
                    w.sine_sums);
                is_new = is_end(w.nodes, end);
                T* out = w.out + w.nodes.groups[i] * w.n_features;
                if (is_new) {
                    write_scaled(w.cosine_sums, scale, half, out);
                    write_scaled(w.sine_sums, scale, w.n_features - half, out + half);
                }
            }
            i = end;
        }
    }
}

constexpr int64_t PIECES = 64 / RETGK_BYTES;  // vectors that have eight lanes of double

// Sum of eight lanes by halves, so that the order is the same for vectors of any width.
inline double sum_of_lanes(const Vectors<double>::Vector (&total)[PIECES]) {
    double lanes[8];
    __builtin_memcpy(lanes, total, sizeof(lanes));
    for (int half = 4; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

// Inner product of the turned features of a node with a direction.
template <typename T>
__attribute__((noinline)) double turned_product(const PhaseValues<T>& w, const T* cosines,
                                                const T* sines, int64_t width) {
    using Vector = Vectors<double>::Vector;
    using Half = typename Vectors<T>::Half;
    const auto* along = reinterpret_cast<const Vector*>(w.turns.along);
    const auto* across = reinterpret_cast<const Vector*>(w.turns.across);
    const auto* direction = reinterpret_cast<const Vector*>(w.cosine_direction);
    const auto* sine_direction = reinterpret_cast<const Vector*>(w.sine_direction);
    Vector total[PIECES] = {}, sine_total[PIECES] = {};
    for (int64_t k = 0; k < width / Vectors<double>::LANES; k += PIECES) {
        for (int64_t p = 0; p < PIECES; ++p) {
            const Vector x =
                __builtin_convertvector(reinterpret_cast<const Half*>(cosines)[k + p], Vector);
            const Vector y =
                __builtin_convertvector(reinterpret_cast<const Half*>(sines)[k + p], Vector);
            total[p] += (along[k + p] * x + across[k + p] * y) * direction[k + p];
            sine_total[p] += (along[k + p] * y - across[k + p] * x) * sine_direction[k + p];
        }
    }
    for (int64_t p = 0; p < PIECES; ++p) total[p] += sine_total[p];
    return sum_of_lanes(total);
}

template <typename T>
void fill_phase_values(const PhaseValues<T>& w) {
    const int64_t width = w.map.n_panels * PANEL<T>, half = (w.n_features + 1) / 2;
    const double scale = __builtin_sqrt(2.0 / static_cast<double>(w.n_features));
    for (int64_t begin = w.first_node; begin < w.last_node; begin += BLOCK_NODES) {
        const int64_t n = smaller(BLOCK_NODES, w.last_node - begin);
        load_points(w.blocks, [=](int64_t i) { return begin + i; }, n, w.points);
        write_angles(w.map, w.points, n, PANEL<T>, width, w.cosines);
        write_waves(w.cosines, w.sines, n * width);
        for (int64_t node = begin; node < begin + n; ++node) {
            const bool is_first = node == w.first_node;
            if (is_first || !same_keys(w.turns, node - 1, node)) write_turns(w.turns, node, width);
            if (is_first || w.graphs[node] != w.graphs[node - 1]) {
                const T* own = w.directions + w.graphs[node] * w.n_features;
                for (int64_t k = 0; k < half; ++k) w.cosine_direction[k] = own[k];
                for (int64_t k = 0; k < w.n_features - half; ++k)
                    w.sine_direction[k] = own[half + k];
            }
            const int64_t place = (node - begin) * width;
            w.values[node] = scale * turned_product(w, w.cosines + place, w.sines + place, width);
        }
    }
}

template <typename T>
void write_row_dots(const RowDots<T>& w) {
    using Vector = Vectors<double>::Vector;
    using Half = typename Vectors<T>::Half;
    for (int64_t i = 0; i < w.n; ++i) {
        const T *x = w.x + i * w.width, *y = w.y + w.of_row[i] * w.width;
        const Half* left = reinterpret_cast<const Half*>(x);
        const Half* right = reinterpret_cast<const Half*>(y);
        Vector total[PIECES] = {};
        for (int64_t k = 0; k < w.width / 8 * PIECES; k += PIECES)
            for (int64_t p = 0; p < PIECES; ++p)
                total[p] += __builtin_convertvector(left[k + p], Vector) *
                            __builtin_convertvector(right[k + p], Vector);
        double sum = sum_of_lanes(total);
        for (int64_t k = w.width / 8 * 8; k < w.width; ++k) sum += double(x[k]) * double(y[k]);
        w.values[w.places[i]] = sum;
    }
}

}  // namespace

void fill_joint(const JointMeans<float>& w) { fill_joint_means(w); }
void fill_joint(const JointMeans<double>& w) { fill_joint_means(w); }
void fill_tensor(const TensorMeans<float>& w) { fill_tensor_means(w); }
void fill_tensor(const TensorMeans<double>& w) { fill_tensor_means(w); }
void fill_phases(const PhaseMeans<float>& w) { fill_phase_means(w); }
void fill_phases(const PhaseMeans<double>& w) { fill_phase_means(w); }
void fill_values(const PhaseValues<float>& w) { fill_phase_values(w); }
void fill_values(const PhaseValues<double>& w) { fill_phase_values(w); }
void write_dots(const RowDots<float>& w) { write_row_dots(w); }
void write_dots(const RowDots<double>& w) { write_row_dots(w); }

}  // namespace retgk::RETGK_LEVEL
