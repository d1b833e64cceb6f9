#pragma once

#include <set>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The float values that depend smoothly on some given ones. Loops are iterated to a fixpoint.
class Activity {
 public:
  explicit Activity(const Program& program) : program_(program) {}

  void add(ValueId v) { active_.insert(v); }
  void add(const Node& node);
  void add(const Region& region);
  [[nodiscard]] bool contains(ValueId v) const { return active_.contains(v); }
  /// True if the float expression depends smoothly on an active value.
  [[nodiscard]] bool depends(const Expr& e) const;

 private:
  void add_compute(const Node& node, const Compute& c);
  /// `arguments` and `results` of a loop, from its initial and yielded values.
  void add_carried(const std::vector<ValueId>& inits, const std::vector<ValueId>& arguments,
                   const std::vector<ValueId>& yields, const std::vector<ValueId>& results, const Region& body);
  bool flow(ValueId from, ValueId to);

  const Program& program_;
  std::set<ValueId> active_;
};

}  // namespace tdsl::ir
