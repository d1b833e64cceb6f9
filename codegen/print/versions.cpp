#include "codegen/print/versions.h"

#include <algorithm>

namespace tdsl::codegen {

namespace {

/// Budget for versions, in units of 0.03 s of build time. Memory-bound kernels leave a third of it to the others.
constexpr int kMostForTwo = 8, kMostForVersions = 30, kMostForLightVersions = 20;

}  // namespace

int price_of_version(std::string_view function) {
  int loops = 0;
  for (const std::string_view head :
       {"for (", "rt::rows::reduce", "rt::rows::sum", "rt::rows::prod<", "rt::rows::least", "rt::rows::greatest",
        "rt::rows::each", "rt::rows::arg_", "rt::lanes::", "rt::row_panels"}) {
    for (std::size_t at = function.find(head); at != std::string_view::npos; at = function.find(head, at + 1)) ++loops;
  }
  return std::max(1, loops / 2);
}

rt::SimdLevel VersionBudget::kept(rt::SimdLevel widest, int price) {
  using enum rt::SimdLevel;
  const bool busy = widest == kAvx512;
  // One version of long kernels, which leaves time for other kernels.
  if (price > kMostForTwo) widest = std::min(widest, kAvx2);
  const int all = widest == kAvx512 ? 2 * price : price;
  if (widest == kBaseline || spent_ + all > (busy ? kMostForVersions : kMostForLightVersions)) return kBaseline;
  spent_ += all;
  return widest;
}

std::string VersionBudget::level(rt::SimdLevel widest, int price) {
  const rt::SimdLevel level = kept(widest, price);
  return level == rt::SimdLevel::kAvx512 ? "kAvx512" : level == rt::SimdLevel::kAvx2 ? "kAvx2" : "";
}

std::size_t versions_at(const std::string& level) { return level.empty() ? 1 : level == "kAvx2" ? 2 : 3; }

std::string left_out_comment(rt::SimdLevel widest, const std::string& level) {
  if (widest == rt::SimdLevel::kBaseline || !level.empty()) return "";
  return "// For the baseline's vectors only: versions for others would make the build long.\n";
}

}  // namespace tdsl::codegen
