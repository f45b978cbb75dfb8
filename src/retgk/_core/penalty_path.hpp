// Support vector machines of two classes for rising penalties; penalty_path.py has the problem.
#pragma once

#include <cstdint>

#include "levels.hpp"

namespace retgk {

// One machine, from one penalty to the next. `residuals` are those of the coefficients `beta`;
// these lie between `lower` and `upper`.
struct Machine {
    const double *gram, *diagonal;  // (n, n), (n,)
    int64_t n;
    double tol;
    int64_t max_steps;
    double *beta, *residuals, *lower, *upper;
    // work arrays, room for n numbers and a whole block: residuals of coefficients that can rise,
    // those that can fall, negative, and what pairs gain
    double *rises, *falls, *gains;
    // ends of the residuals when it stopped
    double *highest, *lowest;
};

// Numbers that are searched at a time: work arrays end with a whole block.
constexpr int64_t BLOCK = 32;

}  // namespace retgk

// Move pairs until the conditions for an optimum hold; whether they do.
RETGK_DECLARE(bool solve(const Machine& work))
