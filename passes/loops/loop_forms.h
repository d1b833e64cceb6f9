#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

// A sequential loop with parallel loops inside can run in two ways: the loops inside as tensor algebra, statement by
// statement over all ranks, or everything as one task (ir/analysis/serial_loop.h). A statement costs tens of
// microseconds however small it is, so short ones are better off in a task. Which are short is decided where sizes are
// known:
//
//     for %0..%1 { for %0..%2 { … } }
// becomes
//     %9 = compute [] (and(le(f64(%2), 262144.0), …))
//     if %9 then { for %0..%1 { for %0..%2 { … } } } else { for %0..%1 { compute [i in 0..%2] … } }

namespace tdsl::passes {

/// Points of a statement that take a rank about as long as planning and starting it. Those with functions such as exp
/// count several times.
inline constexpr std::int64_t kTaskPoints = 262144;
/// What one rank may hold for the sake of short statements.
inline constexpr std::int64_t kTaskBytes = std::int64_t{1} << 30;
/// What is brought to one rank without a word, and what is for every run of a statement: it takes about as long as to
/// start one.
inline constexpr std::int64_t kGatheredBytes = std::int64_t{1} << 20;
inline constexpr std::int64_t kBytesPerRun = std::int64_t{128} << 10;

/// Integer scalars by the polynomials that define them, so that loop bounds are written in dimensions and params.
class KnownScalars {
 public:
  /// Records the results of the node; replaces records of the same values from an earlier loop.
  void note(const ir::Node& node);
  /// The extent with known scalars replaced, or itself if that makes it too large.
  [[nodiscard]] ir::Extent resolved(const ir::Extent& e) const;

 private:
  std::map<ir::ValueId, ir::Extent> values_;
};

/// Integers that every rank knows before the program computes.
class Sizes {
 public:
  /// `resolved`: an extent through what rank-0 integers stand for.
  Sizes(const ir::Program& program, std::function<ir::Extent(const ir::Extent&)> resolved);
  /// The extent in dimensions and params; nothing if it depends on anything else.
  [[nodiscard]] std::optional<ir::Extent> of(const ir::Extent& e) const;

 private:
  std::set<ir::ValueId> known_;
  std::function<ir::Extent(const ir::Extent&)> resolved_;
};

/// Whether the node is a loop that could be one task as it stands and holds loops that may become algebra.
[[nodiscard]] bool has_task_form(const ir::Program& program, const ir::Node& node);

/// What takes the place of a loop: the branch between its two forms with the condition before it, or one of them where
/// the sizes are constants or unknown. `task` is the loop as it was, `statements` what loops_to_algebra left of it.
[[nodiscard]] std::vector<ir::Node> two_forms(ir::Program& program, const ir::Node& task, ir::Node statements,
                                              const Sizes& sizes);

/// The same for a loop of statements over whole tensors: the task, which is marked serial, computes them point by
/// point. Only the loop itself if it cannot be one task, or only a task that is too long.
[[nodiscard]] std::vector<ir::Node> two_forms_of_tensors(ir::Program& program, ir::Node loop, const Sizes& sizes);

}  // namespace tdsl::passes
