#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"
#include "passes/algebra/element_reads.h"

namespace tdsl::passes {

/// Proves that subscripts are in bounds, by the ranges of index variables and by the checks in front of the reader, and
/// makes checks of those that it cannot prove.
class ReadBounds {
 public:
  /// `program` is whole.
  explicit ReadBounds(const ir::Program& program);

  /// Takes a check in front of the next readers into account. `forget` drops all but the first `count`, when their
  /// region ends.
  void learn(const ir::Check& check);
  [[nodiscard]] std::size_t checks() const { return rooms_.size(); }
  void forget(std::size_t count) { rooms_.resize(count); }

  /// True if every subscript of the read is in bounds, or can be checked in front of the reader: the read is certain,
  /// and all sizes are known when the program starts.
  [[nodiscard]] bool are_checkable(const ir::Program& program, const ir::Compute& c, const ElementRead& r) const;
  /// Appends checks of the unproven subscripts to `before`. They apply unless an index variable has no value.
  void check(ir::Program& program, const ir::Compute& c, const ElementRead& r, std::vector<ir::Node>& before) const;

 private:
  [[nodiscard]] bool is_known(const ir::Extent& e) const;
  [[nodiscard]] bool is_room(const ir::Extent& e) const;
  [[nodiscard]] std::vector<std::size_t> unproven(const ir::Program& program, const ir::Compute& c,
                                                  const ElementRead& r) const;

  ir::ExtentFacts facts_;
  std::set<ir::ValueId> known_;    ///< at the start of the run
  std::vector<ir::Extent> rooms_;  ///< differences that checks have shown not to be negative
};

}  // namespace tdsl::passes
