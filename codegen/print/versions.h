#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/kernels/simd_level.h"

// Kernels are compiled for the baseline's vectors and, if they gain from wider ones, for these, too. Each version adds
// to the time of the build.

namespace tdsl::codegen {

/// The cost of a version of a kernel: half the number of its loops, including those of the runtime.
[[nodiscard]] int price_of_version(std::string_view function);

/// Assigns versions to a program's kernels, first come, first served.
class VersionBudget {
 public:
  static constexpr int kPointPrice = 1;  ///< of a kernel of one expression

  /// The widest version besides the baseline's ("kAvx2", "kAvx512"); empty: there is none. `price`: of a version.
  [[nodiscard]] std::string level(rt::SimdLevel widest, int price);

 private:
  [[nodiscard]] rt::SimdLevel kept(rt::SimdLevel widest, int price);
  int spent_ = 0;
};

/// How often a kernel of this level is compiled.
[[nodiscard]] std::size_t versions_at(const std::string& level);

/// The comment before a kernel that was denied a version.
[[nodiscard]] std::string left_out_comment(rt::SimdLevel widest, const std::string& level);

}  // namespace tdsl::codegen
