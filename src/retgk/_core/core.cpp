// The module: its level of instructions, and the functions of all families.
#include <cstdlib>
#include <string>

#include "arrays.hpp"
#include "levels.hpp"

namespace retgk {

namespace {

Level highest_level() {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return has_v4 ? Level::v4 : has_v3 ? Level::v3 : Level::base;
#else
    return Level::base;
#endif
}

const char* const NAMES[] = {"base", "v3", "v4"};
Level chosen_level = Level::base;

void choose_level() {
    const Level highest = highest_level();
    chosen_level = highest;
    const char* asked = std::getenv("RETGK_CORE_LEVEL");
    if (asked == nullptr || *asked == '\0') return;
    for (Level own : {Level::base, Level::v3, Level::v4}) {
        if (std::string(asked) == NAMES[static_cast<int>(own)] && own <= highest) {
            chosen_level = own;
            return;
        }
    }
    throw nb::import_error(("RETGK_CORE_LEVEL=" + std::string(asked) +
                            " is not a level of this machine; unset it, or use base to " +
                            NAMES[static_cast<int>(highest)])
                               .c_str());
}

}  // namespace

Level level() { return chosen_level; }

}  // namespace retgk

NB_MODULE(_core, m) {
    using namespace retgk;
    m.doc() = "Loops of retgk, compiled ahead of time. They check shapes, not values.";
    choose_level();
    m.attr("LEVEL") = NAMES[static_cast<int>(level())];
    m.attr("SOURCE_DIGEST") = RETGK_SOURCE_DIGEST;
    for (const Bind bind : families()) bind(m);
}
