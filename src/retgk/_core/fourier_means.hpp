// Means of Fourier features over the nodes of a graph and label, without storing the features.
//
// For a block of nodes at a time: frequencies times points, the cosine in place, and the sum. A sum
// runs over the nodes of its group in order, so it depends on no other graph, block or thread.
//
// Angles are in turns, so that reducing one to (-1/2, 1/2] is exact at any size: it is the angle
// less the nearest integer. Then cos(2 pi r) = sin(2 pi u) with u = 1/4 - |r|, and the sine on
// [-1/4, 1/4] is an odd polynomial: no table, no branch.
#pragma once

#include "levels.hpp"
#include "panels.hpp"

namespace retgk {

constexpr int64_t BLOCK_NODES = 64;
constexpr int64_t BLOCK_ROOM = 72;  // in whole strips

// Points: some columns of all nodes side by side with some others.
struct NodeBlocks {
    const double *first, *second;
    int64_t n_first, n_second;  // columns
};

// Nodes that count, sorted by group, with their weights.
struct Nodes {
    const int64_t* nodes;
    const double* weights;
    const int64_t* groups;
    int64_t n;
};

// Phases, then frequencies, in turns and in panels.
template <typename T>
struct FourierMap {
    const T* panels;
    int64_t n_panels, n_columns;  // n_columns: 1 + those of the points
};

// out[g] = sqrt(2 / D) sum_i w_i cos(2 pi (omega^T x_i + b)), over nodes i of group g.
template <typename T>
struct JointMeans {
    Nodes nodes;
    NodeBlocks blocks;
    FourierMap<T> map;
    T* out;
    int64_t n_features;
    // work arrays: a block of points and of features, aligned, points zero at first; sums
    T *points, *waves;
    double* sums;
};

// out[g] = sum_i w_i phi_0(p_i) phi_c(a_i)^T, with phi as above, for two maps.
template <typename T>
struct TensorMeans {
    Nodes nodes;
    NodeBlocks blocks;
    FourierMap<T> map_0, map_c;
    T* out;
    int64_t n_features_0, n_features_c;
    T *points_0, *points_c, *phi_0, *phi_c;
    double* sums;
};

// Labels of every level turn the features of a node, by quarters that are two bits each of a hash
// of their keys.
struct Turns {
    const uint64_t* keys;  // (n_nodes, n_levels)
    const double* shares;  // (n_levels,): roots of the weights of the levels
    int64_t n_levels;
    double *along, *across;  // room for the panels of a map, in whole words of turns
};
constexpr int64_t TURNS_PER_WORD = 32;

// out[g] = sqrt(2 / D) sum_i w_i sum_h s_h cos(2 pi (t_i + q_h(i) / 4)) with t_i = omega^T x_i + b,
// then the same of sines, as many or one less.
template <typename T>
struct PhaseMeans {
    Nodes nodes;
    NodeBlocks blocks;
    Turns turns;
    FourierMap<T> map;
    T* out;
    int64_t n_features;
    T *points, *cosines, *sines;
    double *run_cosines, *run_sines, *cosine_sums, *sine_sums;
};

// values[i]: inner product of the features of node i with the direction of its graph.
template <typename T>
struct PhaseValues {
    int64_t first_node, last_node;
    NodeBlocks blocks;
    Turns turns;
    FourierMap<T> map;
    const T* directions;  // (n_graphs, n_features)
    const int64_t* graphs;
    int64_t n_features;
    double* values;
    T *points, *cosines, *sines;
    double *cosine_direction, *sine_direction;  // that of one graph
};

// values[places[i]] = <x[i], y[of_row[i]]>.
template <typename T>
struct RowDots {
    const T *x, *y;
    int64_t n, width;
    const int64_t *places, *of_row;
    double* values;
};

}  // namespace retgk

RETGK_DECLARE(void fill_joint(const JointMeans<float>& work))
RETGK_DECLARE(void fill_joint(const JointMeans<double>& work))
RETGK_DECLARE(void fill_tensor(const TensorMeans<float>& work))
RETGK_DECLARE(void fill_tensor(const TensorMeans<double>& work))
RETGK_DECLARE(void fill_phases(const PhaseMeans<float>& work))
RETGK_DECLARE(void fill_phases(const PhaseMeans<double>& work))
RETGK_DECLARE(void fill_values(const PhaseValues<float>& work))
RETGK_DECLARE(void fill_values(const PhaseValues<double>& work))
RETGK_DECLARE(void write_dots(const RowDots<float>& work))
RETGK_DECLARE(void write_dots(const RowDots<double>& work))
