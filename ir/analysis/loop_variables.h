#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Which values of a loop may live in one variable, when it runs as a sequence of assignments. A loop argument, what
/// its iterations yield and the loop's result want to be one variable, as do a branch's result and what both branches
/// yield, and an updated tensor and its base. They are, unless the older value is still read after the newer one is
/// there.
///
///     %7 = for … with (%5) do (%6, %7) { %8 = compute [] (…) left [%6] base %7   yield %8 }      one variable: %7, %8
///     and the result
class LoopVariables {
 public:
  /// `loop` holds a For or While.
  /// Both must outlive this.
  LoopVariables(const Program& program, const Node& loop);

  /// The value that stands for the variable of `v`; `v` itself for values from outside the loop.
  [[nodiscard]] ValueId variable(ValueId v) const;
  /// Whether several values share the variable of `v`.
  [[nodiscard]] bool is_shared(ValueId v) const;
  /// Whether every value of the variable is computed and used within one iteration: no loop carries it, no branch gives
  /// it.
  [[nodiscard]] bool is_temporary(ValueId v) const;
  /// Two tensors that should be one variable but are needed at the same time, so that one of them is copied.
  struct Clash {
    ValueId older;
    ValueId newer;
  };
  [[nodiscard]] const std::optional<Clash>& tensor_clash() const { return clash_; }
  /// Whether the value is defined by the loop or inside it.
  [[nodiscard]] bool is_inside(ValueId v) const { return parent_.contains(v); }

 private:
  using Live = std::set<ValueId>;

  void enter(const Node& node);
  void enter(const Region& region);
  void define(const std::vector<ValueId>& values, Live& live);
  void walk(const Region& region, Live& live);
  void walk(const Node& node, Live& live);
  /// Tensors of which the node still reads elements when it has written others.
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
  std::map<ValueId, Live> meets_;                    ///< values needed at the same time
  std::optional<Clash> clash_;
};

}  // namespace tdsl::ir
