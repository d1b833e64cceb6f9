#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Headers and helper functions that emitted code requires. Every piece of code collects its own requirements while it
// is printed; the emitted file has those of all its pieces.

namespace tdsl::codegen {

/// Headers of the runtime, in the order of emitted programs; runtime/emitted.h is always the first.
enum class Header : std::uint8_t {
  kBlockedReduction,
  kJoins,
  kParts,
  kRearranged,
  kStored,
  kCoded,
  kAssembled,
  kRows,
  kElements,
  kSmallRoutines,
  kChain,
  kCalls,
  kTiles,
  kLibrary,
  kForeign,
  kTimeSteps,
};
inline constexpr std::array kHeaderPaths = std::to_array<std::string_view>({
    "runtime/kernels/blocked/blocked_reduction.h",
    "runtime/kernels/blocked/joins.h",
    "runtime/kernels/parts.h",
    "runtime/kernels/rearranged.h",
    "runtime/kernels/stored.h",
    "runtime/kernels/coded.h",
    "runtime/kernels/assembled.h",
    "runtime/kernels/rows.h",
    "runtime/kernels/elements.h",
    "runtime/routines/small/in_tasks.h",
    "runtime/routines/chain.h",
    "runtime/routines/calls.h",
    "runtime/kernels/tiles.h",
    "runtime/library/library.h",
    "runtime/kernels/foreign.h",
    "runtime/kernels/steps/time_steps.h",
});

/// Functions of the emitted file itself.
enum class Helper : std::uint8_t {
  kPlace,   ///< `place(7)`: a source location for messages
  kInside,  ///< `inside(i, n, 7, "i of x")`: a subscript checked when it is evaluated; calls place()
};

class Needs {
 public:
  void add(Header header) { headers_.insert(header); }
  void add(Helper helper) {
    helpers_.insert(helper);
    if (helper == Helper::kInside) helpers_.insert(Helper::kPlace);
  }
  void add(const Needs& other) {
    headers_.insert(other.headers_.begin(), other.headers_.end());
    helpers_.insert(other.helpers_.begin(), other.helpers_.end());
  }
  [[nodiscard]] bool has(Header header) const { return headers_.contains(header); }
  [[nodiscard]] bool has(Helper helper) const { return helpers_.contains(helper); }
  /// Paths of headers to include, in order.
  [[nodiscard]] std::vector<std::string_view> includes() const {
    std::vector<std::string_view> paths;
    for (const Header h : headers_) paths.push_back(kHeaderPaths[static_cast<std::size_t>(h)]);
    return paths;
  }

 private:
  std::set<Header> headers_;
  std::set<Helper> helpers_;
};

/// A piece of emitted code.
struct Code {
  std::string text;
  Needs needs;
};

}  // namespace tdsl::codegen
