// Panels of columns: as many as fill 64 bytes, the last one padded by zeros. A matrix in panels has
// the shape (n_panels, n_rows, PANEL).
#pragma once

#include <cstdint>

namespace retgk {

constexpr int64_t PANEL_BYTES = 64;
template <typename T>
constexpr int64_t PANEL = PANEL_BYTES / sizeof(T);

// Rows are multiplied in strips; all levels of instructions have strips that divide this.
constexpr int64_t WHOLE_STRIPS = 12;

}  // namespace retgk
