// Monte Carlo return probabilities: random walks, their meetings, and the first steps exactly.
//
// The random numbers of a walk are a hash of (seed, graph, start node, walk, step). All walks from
// one node take a step together: their memory accesses do not wait for each other, and the memory
// that is needed grows with the number of walks, not with their length.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "arrays.hpp"
#include "hashing.hpp"

namespace retgk {
namespace {

constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15u;
// Added to what was seen, for standard errors. By simulation values then hardly ever lie beyond
// four of them: what was never seen may be as frequent as what is seen seven times on average.
constexpr double UNSEEN = 3.0;

uint64_t bits_of(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Hash the structure of every graph, wherever it stands in a batch. `weights` may be empty.
void graph_hashes(In<int64_t> node_ptr, In<int64_t> indptr, In<int32_t> indices, In<double> weights,
                  Out<uint64_t> hashes) {
    const int64_t n_graphs = size(hashes);
    const int64_t *nodes = node_ptr.data(), *ptr = indptr.data();
    expect(size(node_ptr) == n_graphs + 1 && nodes[n_graphs] < size(indptr),
           "node_ptr has one number more than hashes, indptr one more than nodes");
    expect(ptr[nodes[n_graphs]] <= size(indices) &&
               (size(weights) == 0 || size(weights) == size(indices)),
           "indptr ends beyond the entries, or weights differ from them in number");
    for (int64_t graph = 0; graph < n_graphs; ++graph) {
        const int64_t first = nodes[graph], last = nodes[graph + 1];
        uint64_t total = static_cast<uint64_t>(last - first);
        bool is_weighted = false;  // by its own weights: weighted neighbours in the batch count not
        if (size(weights) > 0)
            for (int64_t entry = ptr[first]; entry < ptr[last]; ++entry)
                is_weighted |= weights.data()[entry] != 1.0;
        for (int64_t node = first; node < last; ++node) {
            const uint64_t row = static_cast<uint64_t>(node - first) << 32;
            for (int64_t entry = ptr[node]; entry < ptr[node + 1]; ++entry) {
                const uint64_t column = static_cast<uint64_t>(indices.data()[entry]);
                const uint64_t value = mixed((row | column) + GOLDEN);
                total += is_weighted ? mixed(value ^ bits_of(weights.data()[entry])) : value;
            }
        }
        hashes.data()[graph] = mixed(total + GOLDEN);
    }
}

// Hash of the seed and each node, wherever its graph stands in a batch.
void node_keys(In<int64_t> node_ptr, In<uint64_t> hashes, uint64_t seed, Out<uint64_t> keys) {
    const int64_t n_graphs = size(hashes);
    expect(size(node_ptr) == n_graphs + 1 && node_ptr.data()[n_graphs] == size(keys),
           "node_ptr has one number more than hashes, and ends with the keys");
    for (int64_t graph = 0; graph < n_graphs; ++graph) {
        const int64_t first = node_ptr.data()[graph], last = node_ptr.data()[graph + 1];
        const uint64_t base = mixed(seed + hashes.data()[graph]);
        for (int64_t node = first; node < last; ++node)
            keys.data()[node] = mixed(base + static_cast<uint64_t>(node - first + 1) * GOLDEN);
    }
}

// Slots of walks: the neighbours of a node and, unless its weight is zero, the self-loop behind
// them; or, if there are none, one slot that stays. Weights are empty if all of them are one.
struct Slots {
    const int64_t* ptr;
    int32_t* targets;
    double *weights, *thresholds;
    int32_t* aliases;

    // Turn weights of a node into thresholds and aliases (Vose's alias method).
    void make_aliases(int64_t node, double degree, std::vector<int64_t>& small,
                      std::vector<int64_t>& large) const {
        small.clear();
        large.clear();
        const double scale = static_cast<double>(ptr[node + 1] - ptr[node]) / degree;
        for (int64_t slot = ptr[node]; slot < ptr[node + 1]; ++slot) {
            aliases[slot] = targets[slot];
            thresholds[slot] = degree > 0.0 ? weights[slot] * scale : 1.0;
            (thresholds[slot] < 1.0 ? small : large).push_back(slot);
        }
        while (!small.empty() && !large.empty()) {
            const int64_t own = small.back(), other = large.back();
            small.pop_back();
            aliases[own] = targets[other];
            thresholds[other] -= 1.0 - thresholds[own];
            if (thresholds[other] < 1.0) {
                large.pop_back();
                small.push_back(other);
            }
        }
        for (const int64_t slot : small) thresholds[slot] = 1.0;  // rounding only: these are one
        for (const int64_t slot : large) thresholds[slot] = 1.0;
    }
};

// Write the slots of all nodes and, if they have weights, the tables of the alias method; and the
// degrees, which are zero where there is nowhere to go.
void fill_slots(In<int64_t> node_ptr, In<int64_t> indptr, In<int32_t> indices, In<double> weights,
                double self_loop, In<int64_t> slot_ptr, Out<double> degrees, Out<int32_t> targets,
                Out<double> slot_weights, Out<double> thresholds, Out<int32_t> aliases) {
    const int64_t n_nodes = size(degrees), n_graphs = size(node_ptr) - 1, n_slots = size(targets);
    const bool is_weighted = size(slot_weights) > 0, has_loops = self_loop > 0.0;
    const int64_t* ptr = indptr.data();
    expect(n_graphs >= 0 && node_ptr.data()[n_graphs] == n_nodes && size(indptr) == n_nodes + 1 &&
               size(slot_ptr) == n_nodes + 1,
           "the arrays of the nodes differ in length");
    expect(ptr[n_nodes] == size(indices) && (!is_weighted || size(weights) == size(indices)) &&
               slot_ptr.data()[n_nodes] == n_slots,
           "indptr or slot_ptr ends beyond the arrays");
    expect(size(thresholds) == size(slot_weights) && size(aliases) == size(slot_weights) &&
               (!is_weighted || size(slot_weights) == n_slots),
           "weights, thresholds and aliases are empty, or have a number for every slot");
    const Slots slots{slot_ptr.data(), targets.data(), slot_weights.data(), thresholds.data(),
                      aliases.data()};
    std::vector<int64_t> small, large;
    for (int64_t graph = 0; graph < n_graphs; ++graph) {
        const int64_t first = node_ptr.data()[graph];
        for (int64_t node = first; node < node_ptr.data()[graph + 1]; ++node) {
            const int64_t n_neighbours = ptr[node + 1] - ptr[node];
            expect(slots.ptr[node + 1] - slots.ptr[node] ==
                       std::max<int64_t>(n_neighbours + has_loops, 1),
                   "slot_ptr is not that of these graphs");
            int32_t* own = slots.targets + slots.ptr[node];
            std::copy_n(indices.data() + ptr[node], n_neighbours, own);
            if (has_loops || n_neighbours == 0)
                own[n_neighbours] = static_cast<int32_t>(node - first);
            if (!is_weighted) {
                degrees.data()[node] = static_cast<double>(n_neighbours + has_loops);
                continue;
            }
            double *shares = slots.weights + slots.ptr[node], degree = 0.0;
            std::copy_n(weights.data() + ptr[node], n_neighbours, shares);
            if (has_loops || n_neighbours == 0) shares[n_neighbours] = self_loop;
            for (int64_t slot = slots.ptr[node]; slot < slots.ptr[node + 1]; ++slot)
                degree += slots.weights[slot];
            degrees.data()[node] = degree;
            slots.make_aliases(node, degree, small, large);
        }
    }
}

// What a step needs: slots and where they lead to, keys of nodes, and degrees; the inverse degree
// is one where the degree is zero.
struct Table {
    const int64_t *node_ptr, *slot_ptr;
    const int32_t* targets;
    const uint64_t* keys;
    const double *degrees, *inverse_degrees;
    const double *weights, *thresholds;  // none if all weights are one
    const int32_t* aliases;

    Table(const In<int64_t>& node_ptr, const In<int64_t>& slot_ptr, const In<int32_t>& targets,
          const In<uint64_t>& keys, const In<double>& degrees, const In<double>& inverse_degrees,
          const In<double>& weights, const In<double>& thresholds, const In<int32_t>& aliases,
          const In<int64_t>& graphs, const In<int64_t>& starts)
        : node_ptr(node_ptr.data()),
          slot_ptr(slot_ptr.data()),
          targets(targets.data()),
          keys(keys.data()),
          degrees(degrees.data()),
          inverse_degrees(inverse_degrees.data()),
          weights(size(weights) > 0 ? weights.data() : nullptr),
          thresholds(thresholds.data()),
          aliases(aliases.data()) {
        const int64_t n_nodes = size(keys), n_slots = size(targets);
        expect(size(slot_ptr) == n_nodes + 1 && size(degrees) == n_nodes &&
                   size(inverse_degrees) == n_nodes,
               "the arrays of the nodes differ in length");
        expect(size(node_ptr) > 0 && this->node_ptr[size(node_ptr) - 1] <= n_nodes &&
                   this->slot_ptr[n_nodes] <= n_slots,
               "node_ptr or slot_ptr ends beyond the arrays");
        expect(size(thresholds) == size(weights) && size(aliases) == size(weights) &&
                   (size(weights) == 0 || size(weights) == n_slots),
               "weights, thresholds and aliases are empty, or have a number for every slot");
        expect(size(starts) == size(graphs), "graphs and starts differ in number");
        expect_below(graphs, size(node_ptr) - 1, "graphs");
        for (int64_t row = 0; row < size(starts); ++row)
            expect(0 <= starts.data()[row] && starts.data()[row] < n_nodes_of(graphs.data()[row]),
                   "starts are nodes of their graphs");
    }

    int64_t n_nodes_of(int64_t graph) const { return node_ptr[graph + 1] - node_ptr[graph]; }

    int64_t most_nodes(const In<int64_t>& graphs) const {
        int64_t largest = 0;
        for (int64_t row = 0; row < size(graphs); ++row)
            largest = std::max(largest, n_nodes_of(graphs.data()[row]));
        return largest;
    }
};

// Let every walk take one step: 32 random bits choose a slot, 32 more its alias. There is no branch
// in it, because what is drawn cannot be foreseen.
template <bool WEIGHTED>
__attribute__((noinline)) void take_step(const Table& table, int64_t first, uint64_t key,
                                         int64_t first_walk, int64_t n_walks, int64_t step,
                                         const int32_t* __restrict before,
                                         int32_t* __restrict now) {
    const int64_t* ptr = table.slot_ptr + first;
    const int32_t* const choices[2] = {table.targets, table.aliases};
    const double* thresholds = table.thresholds;
    // (walk << 32 | step) * GOLDEN, walk by walk
    uint64_t counter =
        key + (static_cast<uint64_t>(first_walk) << 32 | static_cast<uint64_t>(step)) * GOLDEN;
    for (int64_t walk = 0; walk < n_walks; ++walk, counter += GOLDEN << 32) {
        const int64_t begin = ptr[before[walk]];
        const uint64_t n_slots = static_cast<uint64_t>(ptr[before[walk] + 1] - begin);
        const uint64_t bits = mixed(counter);
        const int64_t slot = begin + static_cast<int64_t>(((bits >> 32) * n_slots) >> 32);
        const double share = static_cast<double>(static_cast<int64_t>(bits & 0xFFFFFFFFu));
        const bool is_alias = WEIGHTED && share * 0x1p-32 >= thresholds[slot];
        now[walk] = choices[is_alias][slot];
    }
}

void take_step(const Table& table, int64_t first, uint64_t key, int64_t first_walk, int64_t n_walks,
               int64_t step, const int32_t* before, int32_t* now) {
    if (table.weights != nullptr)
        take_step<true>(table, first, key, first_walk, n_walks, step, before, now);
    else
        take_step<false>(table, first, key, first_walk, n_walks, step, before, now);
}

void expect_results(const Out<double, 2>& estimates, const Out<double, 2>& errors, int64_t n_rows) {
    expect(size(estimates) == n_rows, "estimates has a row for every start");
    expect(size(errors) == 0 || (size(errors) == n_rows && size(errors, 1) == size(estimates, 1)),
           "errors has no rows, or those of estimates");
}

// Share of walks that stand on their start node after s steps (the paper's estimator). For the
// error, some returns and stays away are added, so that what was never seen is not taken for
// certain.
void fill_returns(In<int64_t> node_ptr, In<int64_t> slot_ptr, In<int32_t> targets,
                  In<uint64_t> keys, In<double> degrees, In<double> inverse_degrees,
                  In<double> weights, In<double> thresholds, In<int32_t> aliases,
                  In<int64_t> graphs, In<int64_t> starts, int64_t first_walk, int64_t n_walks,
                  Out<double, 2> estimates, Out<double, 2> errors) {
    const Table table(node_ptr, slot_ptr, targets, keys, degrees, inverse_degrees, weights,
                      thresholds, aliases, graphs, starts);
    expect_results(estimates, errors, size(starts));
    const int64_t n_steps = size(estimates, 1);
    const double n = static_cast<double>(n_walks);
    std::vector<int32_t> now(static_cast<size_t>(n_walks)), before(now);
    for (int64_t row = 0; row < size(starts); ++row) {
        const int64_t first = table.node_ptr[graphs.data()[row]];
        const int32_t start = static_cast<int32_t>(starts.data()[row]);
        std::fill(now.begin(), now.end(), start);
        for (int64_t step = 0; step < n_steps; ++step) {
            std::swap(now, before);
            take_step(table, first, table.keys[first + start], first_walk, n_walks, step,
                      before.data(), now.data());
            const double n_returned =
                static_cast<double>(std::count(now.begin(), now.end(), start));
            estimates.data()[row * n_steps + step] = n_returned / n;
            if (size(errors) == 0) continue;
            const double share = (n_returned + UNSEEN) / (n + 2.0 * UNSEEN);
            errors.data()[row * n_steps + step] = std::sqrt(share * (1.0 - share) / (n - 1.0));
        }
    }
}

// Where walks stand after a step and stood before it, and how many on each node.
struct Standing {
    std::vector<int32_t> now, before, n_now, n_before;

    Standing(int64_t n_walks, int64_t n_nodes)
        : now(static_cast<size_t>(n_walks)),
          before(now),
          n_now(static_cast<size_t>(n_nodes), 0),
          n_before(n_now) {}
};

// Square root of the jackknife's variance, twice that of pairs, and that of more meetings.
double standard_error(double n_walks, double spread, double squares, double more) {
    const double jackknife =
        4.0 * n_walks * (n_walks - 1.0) / ((n_walks - 2.0) * (n_walks - 2.0)) * spread;
    return std::sqrt(jackknife + 4.0 * squares + more) / (n_walks * (n_walks - 1.0));
}

// Standard errors of an odd and the next even step, from each walk's own meetings.
//
// The variance of a U-statistic has a term for walks, which the jackknife estimates, and one for
// pairs of walks. Where walks split evenly over some nodes all have as many meetings: the first
// term is next to zero, and what the jackknife finds of it is chance. So the second is added, from
// the squares of single meetings; and some more meetings than were seen.
std::pair<double, double> errors_of_meetings(const Standing& walks, const double* inverse,
                                             double degree) {
    const int32_t *now = walks.now.data(), *before = walks.before.data();
    const int32_t *n_now = walks.n_now.data(), *n_before = walks.n_before.data();
    const int64_t n_walks = static_cast<int64_t>(walks.now.size());
    const double n = static_cast<double>(n_walks);
    double odd = 0.0, even = 0.0, odd_squares = 0.0, even_squares = 0.0, heaviest = 0.0;
    for (int64_t walk = 0; walk < n_walks; ++walk) {
        const int32_t a = now[walk], b = before[walk];
        const double weight = degree * inverse[a];
        const int32_t n_odd = n_before[a] - (a == b), n_even = n_now[a] - 1;
        odd += n_odd * weight;
        even += n_even * weight;
        odd_squares += n_odd * (weight * weight);
        even_squares += n_even * (weight * weight);
        heaviest = std::max(heaviest, weight);
    }
    double odd_spread = 0.0, even_spread = 0.0;
    for (int64_t walk = 0; walk < n_walks; ++walk) {
        const int32_t a = now[walk], b = before[walk];
        const double here = degree * inverse[a], there = degree * inverse[b];
        const double met = 0.5 * ((n_before[a] - (a == b)) * here + (n_now[b] - (a == b)) * there);
        const double own = (n_now[a] - 1) * here;
        odd_spread += (met - odd / n) * (met - odd / n);
        even_spread += (own - even / n) * (own - even / n);
    }
    const double more = UNSEEN * ((2.0 * heaviest) * (2.0 * heaviest));
    return {standard_error(n, odd_spread, odd_squares, more),
            standard_error(n, even_spread, even_squares, more)};
}

// Meetings of every walk with others: at its node before the step, and after it, each weighted by
// the inverse degree of the node. Counts the walks on every node.
__attribute__((noinline)) std::pair<double, double> count_meetings(Standing& walks,
                                                                   const double* inverse) {
    const int32_t *now = walks.now.data(), *before = walks.before.data();
    int32_t *n_now = walks.n_now.data(), *n_before = walks.n_before.data();
    const int64_t n_walks = static_cast<int64_t>(walks.now.size());
    double odd = 0.0, even = 0.0;
    for (int64_t walk = 0; walk < n_walks; ++walk) {
        const int32_t node = now[walk];
        odd += (n_before[node] - (node == before[walk])) * inverse[node];
        even += 2 * n_now[node] * inverse[node];
        ++n_now[node];
    }
    return {odd, even};
}

// Estimate from meetings of walks, with walks of half the length.
//
// Walks are reversible: P^(a+b)(i, i) = sum_j P^a(i, j) P^b(i, j) d_i / d_j. With a = b = h for
// s = 2h, and a = h, b = h - 1 for s = 2h - 1, this is the expected number of meetings of two
// different walks from i at j after a and b steps, weighted d_i / d_j. Averaging over all ordered
// pairs is a U-statistic, so it is unbiased.
void fill_collisions(In<int64_t> node_ptr, In<int64_t> slot_ptr, In<int32_t> targets,
                     In<uint64_t> keys, In<double> degrees, In<double> inverse_degrees,
                     In<double> weights, In<double> thresholds, In<int32_t> aliases,
                     In<int64_t> graphs, In<int64_t> starts, int64_t first_walk, int64_t n_walks,
                     Out<double, 2> estimates, Out<double, 2> errors) {
    const Table table(node_ptr, slot_ptr, targets, keys, degrees, inverse_degrees, weights,
                      thresholds, aliases, graphs, starts);
    expect_results(estimates, errors, size(starts));
    const int64_t n_steps = size(estimates, 1);
    const double n = static_cast<double>(n_walks);
    Standing walks(n_walks, table.most_nodes(graphs));
    for (int64_t row = 0; row < size(starts); ++row) {
        const int64_t first = table.node_ptr[graphs.data()[row]];
        const int32_t start = static_cast<int32_t>(starts.data()[row]);
        const double* inverse = table.inverse_degrees + first;
        const double degree = table.degrees[first + start], scale = degree / n / (n - 1.0);
        double* found = estimates.data() + row * n_steps;
        std::fill(walks.now.begin(), walks.now.end(), start);
        walks.n_now[static_cast<size_t>(start)] = static_cast<int32_t>(n_walks);
        for (int64_t step = 0; step < n_steps; step += 2) {
            std::swap(walks.now, walks.before);
            std::swap(walks.n_now, walks.n_before);
            take_step(table, first, table.keys[first + start], first_walk, n_walks, step / 2,
                      walks.before.data(), walks.now.data());
            const auto [odd, even] = count_meetings(walks, inverse);
            found[step] = odd * scale;
            if (step + 1 < n_steps) found[step + 1] = even * scale;
            if (size(errors) > 0) {
                double* own = errors.data() + row * n_steps;
                const auto [odd_error, even_error] = errors_of_meetings(walks, inverse, degree);
                own[step] = odd_error;
                if (step + 1 < n_steps) own[step + 1] = even_error;
            }
            for (const int32_t node : walks.before) walks.n_before[static_cast<size_t>(node)] = 0;
        }
        for (const int32_t node : walks.now) walks.n_now[static_cast<size_t>(node)] = 0;
    }
}

// Call `visit` with every node that a slot of a node leads to, and the probability of the slot.
template <typename Visit>
void visit_slots(const Table& table, int64_t row, Visit visit) {
    const double inverse = table.inverse_degrees[row];
    for (int64_t slot = table.slot_ptr[row]; slot < table.slot_ptr[row + 1]; ++slot)
        visit(static_cast<int64_t>(table.targets[slot]),
              (table.weights == nullptr ? 1.0 : table.weights[slot]) * inverse);
}

// Write the first steps of one node, and return how many: two or, within a budget of visits, four.
//
// `mass` is room for one number per node of the graph, all zero before and after. With a_h(j) =
// P^h(i, j): P^2h(i, i) = sum_j a_h(j)^2 d_i / d_j, and likewise for h against h - 1.
int64_t fill_first_steps_of(const Table& table, int64_t first, int64_t start, int64_t budget,
                            double* mass, double* probabilities, int64_t n_steps) {
    if (table.degrees[first + start] == 0.0) {  // nowhere to go: the walk stays
        std::fill_n(probabilities, n_steps, 1.0);
        return n_steps;
    }
    const double *inverse = table.inverse_degrees + first, degree = table.degrees[first + start];
    const auto write = [=](int64_t step, double odd, double even) {
        if (step < n_steps) probabilities[step] = odd;
        if (step + 1 < n_steps) probabilities[step + 1] = even;
    };
    int64_t n_visits = 0;
    double odd = 0.0, even = 0.0;
    visit_slots(table, first + start, [&](int64_t j, double share) {
        n_visits += table.slot_ptr[first + j + 1] - table.slot_ptr[first + j];
        odd += j == start ? share : 0.0;
        mass[j] += share;
    });
    visit_slots(table, first + start,
                [&](int64_t j, double share) { even += share * mass[j] * inverse[j]; });
    visit_slots(table, first + start, [&](int64_t j, double) { mass[j] = 0.0; });
    write(0, odd, even * degree);
    if (n_visits > budget) return std::min<int64_t>(2, n_steps);
    odd = even = 0.0;
    visit_slots(table, first + start, [&](int64_t j, double share) {
        visit_slots(table, first + j, [&](int64_t k, double next) { mass[k] += share * next; });
    });
    visit_slots(table, first + start,
                [&](int64_t j, double share) { odd += share * mass[j] * inverse[j]; });
    visit_slots(table, first + start, [&](int64_t j, double) {
        visit_slots(table, first + j, [&](int64_t k, double) {
            even += mass[k] * mass[k] * inverse[k];
            mass[k] = 0.0;  // a node counts once
        });
    });
    write(2, odd * degree, even * degree);
    return std::min<int64_t>(4, n_steps);
}

// Write over the first two or, within a budget of visits, four steps of every row: exactly.
void fill_first_steps(In<int64_t> node_ptr, In<int64_t> slot_ptr, In<int32_t> targets,
                      In<uint64_t> keys, In<double> degrees, In<double> inverse_degrees,
                      In<double> weights, In<double> thresholds, In<int32_t> aliases,
                      In<int64_t> graphs, In<int64_t> starts, int64_t budget,
                      Out<double, 2> estimates, Out<double, 2> errors) {
    const Table table(node_ptr, slot_ptr, targets, keys, degrees, inverse_degrees, weights,
                      thresholds, aliases, graphs, starts);
    expect_results(estimates, errors, size(starts));
    const int64_t n_steps = size(estimates, 1);
    Aligned<double> mass(table.most_nodes(graphs), 0.0);
    for (int64_t row = 0; row < size(starts); ++row) {
        const int64_t n_exact =
            fill_first_steps_of(table, table.node_ptr[graphs.data()[row]], starts.data()[row],
                                budget, mass.data(), estimates.data() + row * n_steps, n_steps);
        if (size(errors) > 0) std::fill_n(errors.data() + row * n_steps, n_exact, 0.0);
    }
}

}  // namespace

static const Family FAMILY([](nb::module_& m) {
    define(m, "graph_hashes", graph_hashes);
    define(m, "node_keys", node_keys);
    define(m, "fill_slots", fill_slots);
    define(m, "fill_returns", fill_returns);
    define(m, "fill_collisions", fill_collisions);
    define(m, "fill_first_steps", fill_first_steps);
});

}  // namespace retgk
