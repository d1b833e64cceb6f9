#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codegen/loops/blocking.h"
#include "codegen/loops/kernel_nest.h"
#include "codegen/loops/loop_order.h"
#include "codegen/nest/build.h"
#include "codegen/nest/facts.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

/// Builds the nest of one operation's kernel. Each part has its own file.
class KernelNestBuilder {
 public:
  explicit KernelNestBuilder(const KernelNestRequest& request);

  KernelNest run();

 private:
  using Body = nest::Body;
  using Place = nest::Place;
  using TaskRange = nest::TaskRange;
  static nest::Statement statement(decltype(nest::Statement::op) op) { return {std::move(op)}; }

  // --- Variables, expressions: kernel_nest.cpp

  /// Host values in numerical order, which determines how sizes are printed.
  void add_captures();
  /// True for the end of a range, a dimension, or a periodic index within one.
  [[nodiscard]] bool is_size(ValueId v) const;

  void add_indices();

  void add_operands();
  [[nodiscard]] nest::Variable operand_variable(int number) const;

  void add_result();

  ValueId added(nest::Variable variable) { return nest::added(result_.nest, std::move(variable)); }
  ValueId local(std::string name, ir::Scalar type) { return nest::added_local(result_.nest, std::move(name), type); }
  Expr local_read(ValueId v) const { return nest::scalar_read(result_.nest, v); }

  // --- Translation of program expressions to the nest

  [[nodiscard]] Extent of_nest(const Extent& e) const;
  [[nodiscard]] std::vector<Extent> of_nest(std::vector<Extent> shape) const;

  Expr of_nest(const Expr& e);

  Expr read(const Expr& e, const ir::Read& r);

  /// The variable of a read: one per operand, and one per read with checked subscripts.
  ValueId operand(const Expr& e, const ir::Read& r);

  /// Text of a subscript, for messages.
  [[nodiscard]] std::string subscript_text(const Expr& e, ValueId tensor) const;

  nest::Named named(Expr value);
  [[nodiscard]] bool takes_both(const ir::Select& s) const;

  /// The element of the result at the indices.
  Place element();
  [[nodiscard]] bool is_scattered(std::size_t d) const { return d < kernel_.scattered.size() && kernel_.scattered[d]; }
  [[nodiscard]] Expr guard();
  [[nodiscard]] Expr identity() const { return ir::identity_of(*compute_.monoid, kernel_.type); }
  [[nodiscard]] Expr fill() { return compute_.fill ? of_nest(compute_.fill) : ir::zero_of(kernel_.type); }

  // --- Loops, statements, reductions: kernel_loops.cpp

  /// True if the Compute has store subscripts.
  [[nodiscard]] bool writes() const { return !compute_.left.empty(); }

  static nest::Statement loop(int label, nest::Walk over, nest::Order order, Body body);
  /// Loops over `labels` from number `depth` on around the result of `body`; with `mark` the innermost may be
  /// vectorised.
  template <class Inner>
  Body loops(const std::vector<int>& labels, std::size_t depth, bool mark, const Inner& body) {
    if (depth == labels.size()) return body();
    const int label = labels[depth];
    Body result;
    const TaskRange range = narrowed(label, result);
    const bool bounded = !result.empty();
    open_.insert(label);
    Body inner = loops(labels, depth + 1, mark, body);
    open_.erase(label);
    const bool simd = mark && depth + 1 == labels.size() && order_.in_order.contains(label) &&
                      nest::not_simd(result_.nest, label, inner).empty();
    result.push_back(loop(label, range, simd ? nest::Order::kSimd : nest::Order::kSerial, std::move(inner)));
    return bounded ? with_points(std::move(result)) : result;
  }

  /// A task without points may have no operands, not even for bounds.
  Body with_points(Body body) {
    return where_points(std::move(body), [this](int l) {
      return op_.role_of(l) == plan::LabelRole::kReduce || op_.role_of(l) == plan::LabelRole::kGather;
    });
  }
  /// The last parts of a reduction may have no panels, and then no operands, not even for the guard.
  Body with_panels(Body body) {
    return where_points(std::move(body), [this](int l) { return op_.role_of(l) == plan::LabelRole::kGather; });
  }
  template <class Condition>
  Body where_points(Body body, const Condition& condition) {
    nest::HasPoints points;
    for (int l = 0; l < static_cast<int>(op_.labels.size()); ++l) {
      if (condition(l)) points.indices.push_back(l);
    }
    if (points.indices.empty()) return body;
    return {statement(nest::If{std::move(points), std::move(body)})};
  }

  /// The range of a loop over a label: the task's range, narrowed where the guard bounds a reduce label by
  /// loop-invariant values. `before`: computes such bounds.
  TaskRange narrowed(int label, Body& before);
  /// The same for a matrix compressed from all points: elements outside its bounds are absent.
  TaskRange within_bounds(int label, Body& before);
  [[nodiscard]] Expr line(const SymbolicBound& bound) const;

  // --- The statement at one point

  Body point();

  /// `to = value`, or an update of `to` by the combining operator.
  Body change(Place to);
  [[nodiscard]] const std::optional<ir::Monoid>& combining() const {
    return compute_.monoid ? compute_.monoid : compute_.combine;
  }

  Body guarded(Body body);

  /// Computes and checks the point's target; the element is updated if it is in this task's tile.
  Body scatter();

  /// Computes and checks the position of the point's operand; the point counts if it is in this task's interval.
  template <class Inner>
  Body located(const Inner& body) {
    if (kernel_.gathers.empty()) return body();
    Body result;
    nest::IsMine mine;
    for (const auto& [node, labels] : kernel_.gathers) {
      const auto& r = std::get<ir::Read>(node->op);
      for (std::size_t d = 0; d < labels.size(); ++d) {
        if (labels[d] < 0) continue;
        const Extent& extent = op_.labels[static_cast<std::size_t>(labels[d])].range.hi;
        result.push_back(statement(nest::Check{
            labels[d],
            of_nest(r.subscripts[d]),
            {static_cast<int>(d), of_nest(extent), subscript_text(r.subscripts[d], r.tensor), node->range}}));
        mine.members.push_back({labels[d]});
      }
    }
    result.push_back(statement(nest::If{std::move(mine), body()}));
    return result;
  }

  // --- Reductions

  /// Reduce labels innermost: one scalar per output element.
  Body scalar_reduction();

  Body where_stored(std::span<const int> labels, const std::function<Body()>& inner);
  Body into_total(ValueId total, const std::vector<int>& labels);

  /// A sum or product along the last label using the runtime's partial results, which vectorise; nothing if impossible.
  std::optional<Body> line_sum(ValueId total, int label);

  Body blocked(const Blocking& blocks);

  /// Initialises elements that the loops only update or do not all reach.
  Body first_values();

  // --- Loops over stored elements: kernel_stored.cpp

  void order_stored();
  Body stored();
  Body stored_from(std::size_t depth);
  Body stored_loop(std::size_t depth, std::optional<ValueId> total);
  Body stored_total(std::size_t depth);
  [[nodiscard]] nest::Fibre fibre(int number, int label) const;
  [[nodiscard]] ValueId stored_operand(const ir::StoredOperand& operand) const;
  [[nodiscard]] bool is_out(int label) const { return label < static_cast<int>(compute_.out.size()); }
  void add_outer_values();
  std::vector<Place> ahead(std::size_t depth);
  void for_each_plain_read(const std::function<void(const ir::ExprNode&, const ir::Read&)>& f) const;

  const KernelNestRequest& request_;
  const FamilyProgram& program_;
  const RecordedOp& op_;
  const ComputeKernel& kernel_;
  const ir::Compute& compute_;
  KernelNest result_;
  std::vector<std::string> labels_;
  std::map<ValueId, ValueId> captures_;
  std::map<int, ValueId> operands_;
  std::map<const ir::ExprNode*, ValueId> checked_;
  std::map<std::size_t, int> targets_;  ///< computed store subscripts, by dimension
  ValueId target_;
  LoopOrder order_;
  std::size_t total_at_ = 0;  ///< in sparse iteration: number of loops outside the reduction's target
  std::vector<std::vector<nest::Let>> outer_values_;  ///< in sparse iteration, per loop: values read once per iteration
  std::map<const ir::ExprNode*, ValueId> outer_value_;
  std::map<std::pair<int, int>, ValueId> outer_value_of_operand_;  ///< by operand number and label
  std::set<int> open_;                                             ///< labels of the enclosing loops
  std::set<const ir::ExprNode*> observed_;                         ///< conjuncts of the guard enforced by loop bounds
};

}  // namespace tdsl::codegen
