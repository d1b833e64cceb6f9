#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// One entry of the pipeline. A pass may stand in it several times under one name.
struct Pass {
  std::string_view name;
  std::string_view description;
  ir::Program (*run)(const ir::Program&, PassContext&);
  int level =
      1;  ///< runs when the optimisation level is at least this; 0: always, code is generated from what it makes
};

/// All passes in order: the source of `tdslc passes`, `--disable-pass`, `--dump-after` and `--time-passes`.
[[nodiscard]] std::span<const Pass> pipeline();
/// Whether some pass has this name.
[[nodiscard]] bool is_pass(std::string_view name);
/// Whether the pass of this name always runs.
[[nodiscard]] bool is_needed(std::string_view name);

struct PipelineOptions {
  int level = 2;
  std::set<std::string, std::less<>> disabled;
  FusionPolicy fusion = FusionPolicy::kCost;
  /// Called after each pass that ran, with the time it took.
  std::function<void(const Pass&, const ir::Program& before, const ir::Program& after, double seconds)> after_pass;
};

/// Runs the pipeline over a verified program, which may hold Gradients. Throws ir::InternalError naming the pass if one
/// leaves a program that does not verify. If a pass fails (PassContext::failed) the others do not run, and the result
/// is not to be used.
[[nodiscard]] ir::Program run_pipeline(const ir::Program& program, const PipelineOptions& options,
                                       PassContext& context);

}  // namespace tdsl::passes
