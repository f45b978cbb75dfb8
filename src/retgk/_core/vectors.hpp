// What levelled files share: vectors of the width of their level, and powers of two.
//
// Everything is in an anonymous namespace: a copy for every level.
#pragma once

#include <cstdint>

#include "constants.hpp"

namespace retgk::RETGK_LEVEL {
namespace {

// Running sums are vectors, because compilers keep them in registers; everything else is written as
// plain loops, which they vectorise. `Vector` is loaded from where it is aligned, `Unaligned` from
// anywhere, `Bits` are its lanes as integers, `Wide` as many lanes of double; `Half` has as many
// lanes as a vector of double.
template <typename T>
struct Vectors;
template <>
struct Vectors<float> {
    static constexpr int64_t LANES = RETGK_BYTES / sizeof(float);
    typedef float Vector __attribute__((vector_size(RETGK_BYTES)));
    typedef float Unaligned __attribute__((vector_size(RETGK_BYTES), aligned(4)));
    typedef uint32_t Bit;
    typedef Bit Bits __attribute__((vector_size(RETGK_BYTES)));
    typedef double Wide __attribute__((vector_size(2 * RETGK_BYTES), aligned(RETGK_BYTES)));
    typedef float Half __attribute__((vector_size(RETGK_BYTES / 2), aligned(4)));
};
template <>
struct Vectors<double> {
    static constexpr int64_t LANES = RETGK_BYTES / sizeof(double);
    typedef double Vector __attribute__((vector_size(RETGK_BYTES)));
    typedef double Unaligned __attribute__((vector_size(RETGK_BYTES), aligned(8)));
    typedef uint64_t Bit;
    typedef Bit Bits __attribute__((vector_size(RETGK_BYTES)));
    typedef Vector Wide;
    typedef Unaligned Half;
};

inline float root(float value) { return __builtin_sqrtf(value); }
inline double root(double value) { return __builtin_sqrt(value); }

inline float magnitude(float value) { return __builtin_fabsf(value); }
inline double magnitude(double value) { return __builtin_fabs(value); }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Where exponents are cut off, before powers are denormalised. Read once before a loop: if g++
// knows the number, it makes a branch of the cut and does not vectorise the loop.
template <typename T>
inline T largest_exponent() {
    volatile T largest = sizeof(T) == 4 ? 115 : 1000;
    return largest;
}

// 2^-t = 2^-n 2^f with n the integer nearest to t: a polynomial in f = n - t times 2^-n.
// Subtracting t from 1.5 times the power of two whose last bit counts ones leaves -n in the low
// bits, from where a shift moves it to the exponent.
template <typename T>
inline T power_of_half(T t, T largest) {
    constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;
    constexpr T magic = T(1.5) * (int64_t(1) << mantissa);
    constexpr auto& coefficients = Polynomials<T>::half_power;
    constexpr int degree = sizeof(coefficients) / sizeof(T) - 1;
    t = t < largest ? t : largest;
    const T shifted = magic - t, f = (magic - shifted) - t;
    T value = coefficients[degree];
    for (int k = degree - 1; k >= 0; --k) value = value * f + coefficients[k];
    typename Vectors<T>::Bit bits, exponent;
    __builtin_memcpy(&bits, &value, sizeof(T));
    __builtin_memcpy(&exponent, &shifted, sizeof(T));
    bits += exponent << mantissa;
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace
}  // namespace retgk::RETGK_LEVEL
