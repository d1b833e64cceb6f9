#pragma once

#include <array>

#include "runtime/fft/stages.h"

namespace tdsl::rt::fourier {

/// True if the functions below exist on this processor: they have AVX2.
[[nodiscard]] bool has_transposes();
/// Eight lines of n contiguous pairs to lanes, and back times `scale`. The same values as element by element.
void transpose_in(const std::array<const double*, 16>& lines, Index n, const Lanes<double>& to);
void transpose_out(const Lanes<double>& from, Index n, double scale, const std::array<double*, 16>& lines);

}  // namespace tdsl::rt::fourier
