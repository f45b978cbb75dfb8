// Which instructions this machine has, and the choice among copies of a function.
//
// A levelled file is compiled once for every level, with RETGK_LEVEL naming the namespace of its
// functions and RETGK_BYTES the width of its vectors. Its header declares a function for all
// levels,
//
//     RETGK_DECLARE(void fill_half_powers(const HalfPowers&))
//
// and a caller asks for the copy of this machine: RETGK_CHOSEN(fill_half_powers)(work). Overloads
// for several number types are declared one by one.
#pragma once

namespace retgk {

enum class Level { base, v3, v4 };

// Chosen when the module is loaded: the highest that this machine has, or RETGK_CORE_LEVEL.
Level level();

}  // namespace retgk

#if defined(__x86_64__) || defined(_M_X64)
#define RETGK_DECLARE(declaration) \
    namespace retgk::base {        \
    declaration;                   \
    }                              \
    namespace retgk::v3 {          \
    declaration;                   \
    }                              \
    namespace retgk::v4 {          \
    declaration;                   \
    }
#define RETGK_CHOSEN(name)                                                     \
    [](const auto& work) {                                                     \
        return retgk::level() == retgk::Level::v4   ? retgk::v4::name(work)    \
               : retgk::level() == retgk::Level::v3 ? retgk::v3::name(work)    \
                                                    : retgk::base::name(work); \
    }
#else
#define RETGK_DECLARE(declaration) \
    namespace retgk::base {        \
    declaration;                   \
    }
#define RETGK_CHOSEN(name) retgk::base::name
#endif
