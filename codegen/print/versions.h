#pragma once

#include <string>
#include <string_view>

#include "runtime/kernels/simd_level.h"

// Kernels are compiled for the baseline's vectors, and those that gain from wider ones for these, too: each version
// makes the build longer.

namespace tdsl::codegen {

/// Half the loops that are written in a kernel, the runtime's included: what a version of it costs.
[[nodiscard]] int price_of_version(std::string_view function);

/// Which versions a program's kernels get, first come, first served.
class VersionBudget {
 public:
  static constexpr int kPointPrice = 1;  ///< of a kernel of one expression

  /// The widest version besides the baseline's ("kAvx2", "kAvx512"); empty: there is none. `price`: of a version.
  [[nodiscard]] std::string level(rt::SimdLevel widest, int price);

 private:
  [[nodiscard]] rt::SimdLevel kept(rt::SimdLevel widest, int price);
  int spent_ = 0;
};

/// What is said in front of a kernel that could have had more versions.
[[nodiscard]] std::string left_out_comment(rt::SimdLevel widest, const std::string& level);

}  // namespace tdsl::codegen
