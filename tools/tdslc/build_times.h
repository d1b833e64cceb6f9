#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "codegen/print/emit.h"
#include "tools/build/compile.h"

namespace tdsl::tools {

/// The parts of a build, for `build --time-passes`: frontend, passes, lowering, printing, compiler, linker.
class BuildTimes {
 public:
  /// Adds a part with the time of `f` without that of parts added inside; returns its value.
  template <class F>
  auto time(std::string name, const F& f) {
    const auto start = std::chrono::steady_clock::now();
    const double inside = total();
    auto result = f();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double own = seconds.count() - (total() - inside);
    record_.steps.push_back({std::move(name), own, own});
    return result;
  }
  void add(std::string_view name, double seconds) { record_.steps.push_back({std::string(name), seconds, seconds}); }
  [[nodiscard]] codegen::BuildRecord& record() { return record_; }
  codegen::EmitCounts counts;
  bool cached = false;  ///< the executable was found in the cache

  /// A table, or with `json` an object: {"steps": [{"name", "ms", "cpu_ms"}…], "kernels", "versions", "units", …}.
  [[nodiscard]] std::string text(bool json) const;

 private:
  [[nodiscard]] double total() const;

  codegen::BuildRecord record_;
};

}  // namespace tdsl::tools
