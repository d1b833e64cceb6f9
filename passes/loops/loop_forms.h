#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

// A sequential loop with parallel inner loops has two variants: the inner loops as tensor algebra, statement by
// statement over all ranks, or the whole nest as one task (ir/analysis/serial_loop.h). Every statement costs tens of
// microseconds of overhead, so short statements run faster in a task. The choice is made once sizes are known:
//
//     for %0..%1 { for %0..%2 { … } }
// becomes
//     %9 = compute [] (and(le(f64(%2), 262144.0), …))
//     if %9 then { for %0..%1 { for %0..%2 { … } } } else { for %0..%1 { compute [i in 0..%2] … } }

namespace tdsl::passes {

/// Number of points of a statement that take a rank about as long as planning and starting the statement. Points with
/// functions such as exp count several times.
inline constexpr std::int64_t kTaskPoints = 262144;
/// Upper bound on the memory of a task on one rank.
inline constexpr std::int64_t kTaskBytes = std::int64_t{1} << 30;
/// Bytes that may be gathered on one rank unconditionally, plus bytes per run of a statement: gathering these takes
/// about as long as starting a statement.
inline constexpr std::int64_t kGatheredBytes = std::int64_t{1} << 20;
inline constexpr std::int64_t kBytesPerRun = std::int64_t{128} << 10;

/// Integer scalars as polynomials of their definitions, to express loop bounds in dimensions and params.
class KnownScalars {
 public:
  /// Records the node's results and drops what an earlier loop recorded for the same values.
  void note(const ir::Node& node);
  /// The extent with known scalars substituted, or the extent itself if the result would be too large.
  [[nodiscard]] ir::Extent resolved(const ir::Extent& e) const;

 private:
  std::map<ir::ValueId, ir::Extent> values_;
};

/// Integers that every rank knows before the computation starts.
class Sizes {
 public:
  /// `resolved`: substitutes known rank-0 integers into an extent.
  Sizes(const ir::Program& program, std::function<ir::Extent(const ir::Extent&)> resolved);
  /// The extent in terms of dimensions, params and integers computed from them in front of loops; nullopt if it depends
  /// on anything else.
  [[nodiscard]] std::optional<ir::Extent> of(const ir::Extent& e) const;

 private:
  std::set<ir::ValueId> known_;
  std::function<ir::Extent(const ir::Extent&)> resolved_;
};

/// True for a loop that could run as one task and contains loops that may become algebra.
[[nodiscard]] bool has_task_form(const ir::Program& program, const ir::Node& node);

/// The replacement of a loop: a condition and a branch between the two variants, or a single variant if sizes are
/// constant or unknown. `task` is the original loop, `statements` the result of loops_to_algebra.
[[nodiscard]] std::vector<ir::Node> two_forms(ir::Program& program, const ir::Node& task, ir::Node statements,
                                              const Sizes& sizes);

/// The same for a loop of whole-tensor statements: the task, marked serial, computes them point by point. Returns only
/// the loop if it cannot be one task, or if the task is always too long.
[[nodiscard]] std::vector<ir::Node> two_forms_of_tensors(ir::Program& program, ir::Node loop, const Sizes& sizes);

}  // namespace tdsl::passes
