#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/loops/blocking.h"
#include "codegen/loops/compute_nest.h"
#include "codegen/loops/loop_order.h"
#include "codegen/nest/facts.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

/// The nest of one operation's kernel: its Compute over the task's intervals, with operands by number. Each part has
/// its own file.
class KernelNestBuilder final : public ComputeNest {
 public:
  KernelNestBuilder(const NestRequest& request, const OperationStep& step);

  BuiltNest run();

 private:
  using TaskRange = nest::TaskRange;

  // --- Variables, expressions: kernel_nest.cpp

  /// Host values in numerical order, which determines how sizes are printed.
  void add_captures();
  /// True for the end of a range, a dimension, or a periodic index within one.
  [[nodiscard]] bool is_size(ValueId v) const;
  void add_indices();
  [[nodiscard]] nest::Variable operand(int number);
  void add_result();

  Expr part(const Expr& e) override;
  Extent size(ValueId v) override { return Extent::of(captures_.at(v)); }
  [[nodiscard]] bool takes_both(const ir::Select& s) const override;
  /// The variable of a read: one per operand, and one per read with checked subscripts.
  ValueId operand(const Expr& e, const ir::Read& r);

  /// The element of the result at the indices.
  Place element();
  [[nodiscard]] bool is_scattered(std::size_t d) const { return d < kernel_.scattered.size() && kernel_.scattered[d]; }
  /// The part of the guard that loop bounds do not enforce; may be null.
  [[nodiscard]] Expr guard();
  [[nodiscard]] Expr identity() const { return ir::identity_of(*compute_.monoid, kernel_.type); }
  [[nodiscard]] Expr fill() { return compute_.fill ? of_nest(compute_.fill) : ir::zero_of(kernel_.type); }

  // --- Loops, statements, reductions: kernel_loops.cpp

  /// True if the Compute has store subscripts.
  [[nodiscard]] bool writes() const { return !compute_.left.empty(); }

  nest::For enter(int label) override;
  void leave(int label) override {
    open_.erase(label);
    tiles_.erase(label);
  }
  Body with_range(Body body) override;
  [[nodiscard]] bool vectorises(int label, const Body& body) const override;
  /// The condition that the task has points along all labels for which `counts` holds; none without such labels.
  template <class Counts>
  [[nodiscard]] std::optional<nest::HasPoints> points(const Counts& counts) const {
    nest::HasPoints result;
    for (int l = 0; l < static_cast<int>(op_.labels.size()); ++l) {
      if (counts(op_.role_of(l))) result.indices.push_back(l);
    }
    return result.indices.empty() ? std::nullopt : std::optional(std::move(result));
  }
  /// The range of a loop over a label: the task's range, narrowed where the guard bounds a reduce label by
  /// loop-invariant values. Adds statements that compute such bounds.
  TaskRange narrowed(int label);
  /// The same for a matrix compressed from all points: elements outside its bounds are absent.
  TaskRange within_bounds(int label);
  /// Adds a begin or an end of the range.
  void narrow(TaskRange& range, nest::Narrow bound);
  [[nodiscard]] Expr row_bound(const SymbolicBound& bound) const;

  // --- Loops over tiles: kernel_tiles.cpp

  /// Finds the labels that all subscripts of the body divide by one size.
  void find_divisors();
  [[nodiscard]] bool is_edge(const Expr& e) const;
  /// Begins a loop over the tiles of such a label.
  void open_tile(int label);
  /// The label's range in the current tile; the task's range without tiles.
  [[nodiscard]] TaskRange range_in_tile(int label) const;
  Body in_tiles(int label, Body body) override;
  /// A quotient or remainder of a label in its current tile; null for other expressions.
  Expr in_open_tile(const Expr& e);
  /// True for a remainder by the extent that it subscripts, of a label with tiles.
  [[nodiscard]] bool is_position(const Expr& subscript, const Extent& extent) const;
  /// The labels along which all reads stay or advance to the next element, within a tile. Empty without tiles.
  [[nodiscard]] std::set<int> in_order_in_tiles() const;

  // --- The statement at one point

  void point();
  /// Stores or combines the Compute's value where the guard holds, if the task has the point's operands.
  void point_into(const Place& to);
  /// `to = value`, or an update of `to` by the combining operator.
  void change(Place to);
  [[nodiscard]] const std::optional<ir::Monoid>& combining() const {
    return compute_.monoid ? compute_.monoid : compute_.combine;
  }
  /// Computes and checks the positions of the point's operands; the point counts if they are in this task's intervals.
  template <class Inner>
  void located(const Inner& inner);
  /// Computes and checks the point's target; the element is updated if it is in this task's tile.
  void scatter();

  /// Reduce labels innermost: one scalar per output element.
  void scalar_reduction();
  void into_total(ValueId total, std::span<const int> labels);
  bool line(ValueId total, std::span<const int> labels) override;
  /// A sum or product along the last label using the runtime's partial results, which vectorise; false if impossible.
  bool line_sum(ValueId total, int label);
  /// The reduction of the elements for which the guard holds; false if impossible.
  bool masked(ValueId total, int label, const TaskRange& range, Body& body);
  /// The mask with a local for each part that does not change along the label, defined in `before`.
  Expr with_fixed_parts(const Expr& mask, int label, Body& before);
  void blocked(const Blocking& blocks);
  /// Initialises elements that the loops only update or do not all reach.
  void first_values();

  // --- Loops over stored elements: kernel_stored.cpp

  void order_stored();
  void stored();
  void stored_from(std::size_t depth);
  void stored_loop(std::size_t depth, std::optional<ValueId> total);
  TaskRange stored_part(std::size_t depth);
  [[nodiscard]] ir::ByValue by_value(const Body& body) const;
  void dense_loops(std::size_t depth, std::optional<ValueId> total);
  void stored_total(std::size_t depth);
  void where_stored(std::span<const int> labels, const std::function<void()>& inner);
  [[nodiscard]] nest::Fibre fibre(int number, int label) const;
  [[nodiscard]] ValueId stored_operand(const ir::StoredOperand& operand) const;
  [[nodiscard]] bool is_out(int label) const { return label < static_cast<int>(compute_.out.size()); }
  void add_outer_values();
  std::vector<Place> ahead(std::size_t depth);
  void for_each_plain_read(const std::function<void(const ir::ExprNode&, const ir::Read&)>& f) const;

  const OperationStep& step_;
  const RecordedOp& op_;
  const ComputeKernel& kernel_;
  const ir::Compute& compute_;
  std::map<int, ValueId> operands_;
  std::map<const ir::ExprNode*, ValueId> checked_;
  std::map<std::size_t, int> targets_;  ///< computed store subscripts, by dimension
  ValueId target_;
  LoopOrder order_;
  std::map<int, Expr> divisors_;  ///< per label that the body divides: the size, of the program
  /// Locals: the bounds of the task, the number of the current tile, and the task's part of it.
  struct Tile {
    ValueId from, to, number, begin, end;
  };
  std::map<int, Tile> tiles_;  ///< per such label of an enclosing loop
  std::size_t total_at_ = 0;   ///< in sparse iteration: number of loops outside the reduction's target
  std::vector<std::vector<nest::Let>> outer_values_;  ///< in sparse iteration, per loop: values read once per iteration
  std::map<const ir::ExprNode*, ValueId> outer_value_;
  std::map<std::pair<int, int>, ValueId> outer_value_of_operand_;  ///< by operand number and label
  std::set<int> open_;                                             ///< labels of the enclosing loops
  std::set<const ir::ExprNode*> observed_;                         ///< conjuncts of the guard enforced by loop bounds
};

}  // namespace tdsl::codegen
