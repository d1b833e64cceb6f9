#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Determines which values of a loop may share a variable when the loop runs as a sequence of assignments. A loop
/// argument, its yields and the loop's result should share one, and so should a branch's result and both branches'
/// yields, and an updated tensor and its base. They do, unless the older value is still read after the newer one is
/// defined.
///
///     %7 = for … with (%5) do (%6, %7) { %8 = compute [] (…) left [%6] base %7   yield %8 }
///         one variable: %7, %8 and the result
class LoopVariables {
 public:
  /// `loop` holds a For or While. Both arguments must outlive this object.
  LoopVariables(const Program& program, const Node& loop);

  /// The representative of the variable of `v`; `v` itself for values from outside the loop.
  [[nodiscard]] ValueId variable(ValueId v) const;
  /// True if several values share the variable of `v`.
  [[nodiscard]] bool is_shared(ValueId v) const;
  /// True if every value of the variable is computed and used within one iteration: it is neither carried by a loop nor
  /// the result of a branch.
  [[nodiscard]] bool is_temporary(ValueId v) const;
  /// Two tensors that should share a variable but are live at the same time, so that one of them is copied.
  struct Clash {
    ValueId older;
    ValueId newer;
  };
  [[nodiscard]] const std::optional<Clash>& tensor_clash() const { return clash_; }
  /// True if the value is defined by the loop or inside it.
  [[nodiscard]] bool is_inside(ValueId v) const { return parent_.contains(v); }

 private:
  using Live = std::set<ValueId>;

  void enter(const Node& node);
  void enter(const Region& region);
  void define(const std::vector<ValueId>& values, Live& live);
  void walk(const Region& region, Live& live);
  void walk(const Node& node, Live& live);
  /// Tensors that the node still reads after it has begun to write others.
  [[nodiscard]] Live read_while_written(const Node& node) const;
  void walk_for(const Node& node, const For& loop, Live& live);
  void walk_while(const Node& node, const While& loop, Live& live);
  void walk_branch(const Node& node, const If& branch, Live& live);
  void merge_all(const Region& region);
  void merge_all(const Node& node);
  void merge(ValueId older, ValueId newer);
  [[nodiscard]] Live free_values(const std::vector<const Region*>& regions) const;

  const Program& program_;
  const Node& loop_;
  std::map<ValueId, ValueId> parent_;
  std::map<ValueId, std::vector<ValueId>> members_;  ///< by representative
  Live carried_;                                     ///< arguments and results of loops, results of branches
  std::map<ValueId, Live> meets_;                    ///< interference: values live at the same time
  std::optional<Clash> clash_;
};

}  // namespace tdsl::ir
