#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// One entry of the pipeline. A pass may occur several times under one name.
struct Pass {
  std::string_view name;
  std::string_view description;
  ir::Program (*run)(const ir::Program&, PassContext&);
  int level = 1;  ///< minimum optimisation level; 0: always runs, because code generation depends on it
};

/// All passes in order. Drives `tdslc passes`, `--disable-pass`, `--dump-after` and `--time-passes`.
[[nodiscard]] std::span<const Pass> pipeline();
/// True if a pass has this name.
[[nodiscard]] bool is_pass(std::string_view name);
/// True if the pass of this name always runs.
[[nodiscard]] bool is_needed(std::string_view name);

struct PipelineOptions {
  int level = 2;
  std::set<std::string, std::less<>> disabled;
  FusionPolicy fusion = FusionPolicy::kCost;
  bool verify_each = true;  ///< verify the program after each pass; otherwise after the last one
  /// Called after each pass that ran, with its run time.
  std::function<void(const Pass&, const ir::Program& before, const ir::Program& after, double seconds)> after_pass;
};

/// Runs the pipeline over a verified program, which may contain Gradients. Throws ir::InternalError naming the pass if
/// a pass produces a program that does not verify. If a pass fails (PassContext::failed), the remaining passes do not
/// run and the result must not be used.
[[nodiscard]] ir::Program run_pipeline(const ir::Program& program, const PipelineOptions& options,
                                       PassContext& context);

}  // namespace tdsl::passes
