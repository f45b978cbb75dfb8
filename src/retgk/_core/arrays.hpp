// Arrays of NumPy as the bindings take them, the checks of their shapes, and work arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace retgk {

namespace nb = nanobind;
using namespace nb::literals;

// Contiguous arrays in memory. `In` is read, and may be read-only; `Out` is written.
template <typename T, int N = 1>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <typename T, int N = 1>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// Bind a function. It runs without the GIL, in a thread of Python's. Arrays are never converted:
// one of another type is a mistake, and of an `Out` a copy would be written instead.
template <typename T>
constexpr bool is_array = false;
template <typename... Options>
constexpr bool is_array<nb::ndarray<Options...>> = true;

template <typename Argument>
auto unconverted() {
    if constexpr (is_array<std::decay_t<Argument>>)
        return nb::arg().noconvert();
    else
        return nb::arg();
}

// Release or take the GIL, as nanobind's guards do. Until Python 3.13 a daemon thread that takes
// the GIL while the interpreter shuts down is ended by unwinding its stack, and nanobind's guards,
// which are noexcept, abort the process then. Such a thread waits here for the end, as since
// Python 3.14.
template <typename Take>
auto taken_or_never(Take&& take) noexcept {
    try {
        return take();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

struct GilReleased {
    GilReleased() noexcept : state_(PyEval_SaveThread()) {}
    ~GilReleased() {
        taken_or_never([this] { PyEval_RestoreThread(state_); });
    }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

private:
    PyThreadState* state_;
};

struct GilTaken {
    GilTaken() noexcept : state_(taken_or_never([] { return PyGILState_Ensure(); })) {}
    ~GilTaken() { PyGILState_Release(state_); }
    GilTaken(const GilTaken&) = delete;
    GilTaken& operator=(const GilTaken&) = delete;

private:
    PyGILState_STATE state_;
};

template <typename Result, typename... Arguments>
void define(nb::module_& m, const char* name, Result (*function)(Arguments...)) {
    // arrays end after the guard: the last of an array's owners takes the GIL
    const auto unlocked = [function](Arguments... arguments) -> Result {
        const GilReleased released;
        return function(arguments...);
    };
    m.def(name, unlocked, unconverted<Arguments>()...);
}

// Families of functions, each bound by the `FAMILY` of its file: being defined is being listed.
using Bind = void (*)(nb::module_&);
inline std::vector<Bind>& families() {
    static std::vector<Bind> found;
    return found;
}
struct Family {
    explicit Family(Bind bind) { families().push_back(bind); }
};

// Raise ValueError unless arrays have the lengths that they must have.
inline void expect(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

template <typename Array>
int64_t size(const Array& array, int axis = 0) {
    return static_cast<int64_t>(array.shape(axis));
}

// Raise IndexError unless all numbers are in [0, bound).
template <typename T>
void expect_below(const In<T>& numbers, int64_t bound, const char* name) {
    const T* values = numbers.data();
    bool is_inside = true;
    for (int64_t i = 0; i < size(numbers); ++i)
        is_inside &= values[i] >= 0 && static_cast<int64_t>(values[i]) < bound;
    if (!is_inside) throw std::out_of_range(std::string(name) + " has a number out of range");
}

// A work array on a cache line of its own, so that vectors never straddle two; not initialised.
template <typename T>
class Aligned {
public:
    explicit Aligned(int64_t n)
        : data_(static_cast<T*>(::operator new((n > 0 ? static_cast<size_t>(n) : 1) * sizeof(T),
                                               std::align_val_t(64)))),
          size_(n) {}
    Aligned(int64_t n, T value) : Aligned(n) {
        for (int64_t i = 0; i < n; ++i) data_[i] = value;
    }
    ~Aligned() { ::operator delete(data_, std::align_val_t(64)); }
    Aligned(const Aligned&) = delete;
    Aligned& operator=(const Aligned&) = delete;
    T* data() { return data_; }
    int64_t size() const { return size_; }
    T& operator[](int64_t i) { return data_[i]; }

private:
    T* data_;
    int64_t size_;
};

// Give the memory of a std::vector to a new NumPy array. Take the GIL for it at the end only, when
// no loop is left: a thread that waits for the GIL in the middle ends when the interpreter does.
template <typename Vector>
auto to_numpy(Vector&& values) {
    using T = typename std::decay_t<Vector>::value_type;
    const GilTaken gil;
    auto* owned = new std::decay_t<Vector>(std::forward<Vector>(values));
    nb::capsule owner(owned,
                      [](void* p) noexcept { delete static_cast<std::decay_t<Vector>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

}  // namespace retgk
