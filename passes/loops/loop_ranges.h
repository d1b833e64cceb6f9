#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph/extent_facts.h"

namespace tdsl::passes {

/// Extents in the body of nested loops: a loop whose body runs has at least one value, and checks in front have passed.
class LoopRanges {
 public:
  explicit LoopRanges(const ir::Program& program) : facts_(program) {}

  /// Begins a loop inside of those before; `begin` and `end` in terms of their indices.
  void enter(ir::ValueId index, const ir::Extent& begin, const ir::Extent& end, std::int64_t step);
  void leave() { loops_.pop_back(); }
  [[nodiscard]] bool empty() const { return loops_.empty(); }

  /// `room` is not negative from here on.
  void pass(ir::Extent room) { passed_.push_back(std::move(room)); }
  [[nodiscard]] std::size_t passed() const { return passed_.size(); }
  /// Forgets all but the first `count` checks.
  void forget(std::size_t count) { passed_.resize(count); }

  /// True if the extent is provably at least 0 for all values of the loops.
  [[nodiscard]] bool never_negative(const ir::Extent& e) const { return never_negative(e, loops_.size()); }

 private:
  /// A loop: the smallest and the largest value of its index.
  struct Range {
    ir::ValueId index;
    ir::Extent lowest;
    ir::Extent highest;
  };

  /// For all values of the outermost `loops` loops.
  [[nodiscard]] bool never_negative(const ir::Extent& e, std::size_t loops) const;

  ir::ExtentFacts facts_;
  std::vector<Range> loops_;        ///< outermost first
  std::vector<ir::Extent> passed_;  ///< not negative
};

}  // namespace tdsl::passes
