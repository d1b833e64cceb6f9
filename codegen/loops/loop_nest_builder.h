#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/loops/compute_nest.h"
#include "codegen/loops/loop_bounds.h"
#include "ir/analysis/boundary.h"
#include "ir/analysis/loop_variables.h"

namespace tdsl::codegen {

/// The nest of one serial loop: its Computes over whole ranges, with tensors by name. Each part has its own file.
class LoopNestBuilder final : public ComputeNest {
 public:
  LoopNestBuilder(const NestRequest& request, const LoopStep& step);

  BuiltNest run();

 private:
  // --- Variables, values, elements: loop_nest.cpp
  void add_captures();
  [[nodiscard]] bool is_tensor(ValueId v) const { return program_.type(v).rank() > 0; }
  /// The nest's variable for a value of the loop, or one from outside.
  ValueId variable(ValueId v);
  ValueId variable_inside(ValueId v);
  ValueId outer(ValueId v);
  ValueId captured(ValueId here);
  ValueId operand(ValueId here);
  /// The expression of a scalar's value.
  Expr value(ValueId v);
  /// The value as a constant, or null.
  [[nodiscard]] Expr constant_of(ValueId v) const;
  /// The expression with constants substituted for reads of their values.
  [[nodiscard]] Expr spelled(const Expr& e) const;
  Expr part(const Expr& e) override;
  Extent size(ValueId v) override;
  using ComputeNest::of_nest;
  /// The expression in terms of the nest: reads of tensors are bounded unless they are in bounds.
  Expr of_nest(const Expr& e) { return ComputeNest::of_nest(spelled(e)); }
  nest::Range of_nest(const ir::Label& l) { return {of_nest(l.begin), of_nest(l.end)}; }
  /// The tensor's variable, or a view of it that bounds these subscripts.
  ValueId view(ValueId tensor, const std::vector<Expr>& subscripts, const ir::SourceRange& range);
  /// True if the tensor's extents vary between iterations.
  [[nodiscard]] bool changes_size(ValueId v) const;
  [[nodiscard]] std::string name(ValueId v) const;

  // --- Statements: loop_statements.cpp
  void count_uses();
  void region(const ir::Region& r);
  /// A condition used only by the branch that follows is inlined there.
  bool is_condition_of(const ir::Node& n, const ir::Node& next);
  void node(const ir::Node& n);
  /// Declares a variable shared by several values, unless already declared.
  void declare(ValueId v);
  /// `changes`: the variable may be reassigned later.
  void assign_value(ValueId v, Expr x, bool changes = false);
  void copy(ValueId v, ValueId from);
  /// `targets = sources`, in parallel; values in the same variable need no assignment.
  void assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& sources);
  /// Initialises carried variables with `inits`; tensors of the outermost loop are already in place.
  void begin(const ir::Node& n, const std::vector<ValueId>& arguments, const std::vector<ValueId>& inits);
  /// The region followed by `targets = its yields`, which has no source line.
  void region_giving(const ir::Region& r, const std::vector<ValueId>& targets);
  void for_loop(const ir::Node& n, const ir::For& f);
  void while_loop(const ir::Node& n, const ir::While& w);
  void branch(const ir::Node& n, const ir::If& i);
  void random(const ir::Node& n, const ir::Random& r);
  void check(const ir::Check& c);
  void routine(const ir::Node& n, const ir::Routine& r);

  // --- Computes: loop_computes.cpp
  // A value. `held`: a bool local, false if there is no value because the guard holds nowhere; invalid: always a value.
  struct Value {
    Expr value;
    ValueId held;
  };
  void compute(const ir::Node& n, const ir::Compute& c);
  /// Constants are inlined at their uses.
  bool constant(const ir::Node& n, const ir::Compute& c);
  void scalar(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// `L[i, j] = value`, for every point.
  void tensor(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// Computes all values before storing the first.
  void staged(const ir::Node& n, const ir::Compute& c, std::size_t k);
  void store_point(const ir::Node& n, const ir::Compute& c, std::size_t k, const Value& x);
  /// The position of a point within the statement.
  std::vector<Expr> position(const ir::Compute& c);
  // Index variables are numbered after those of the enclosing loops.
  nest::For enter(int label) override;
  void leave(int label) override;
  void open(const ir::Label& label);
  void close(std::size_t count);
  /// Loops over the results' index variables.
  void output_loops(const ir::Compute& c, const std::function<void()>& f);
  /// Zero, `fill` or the identity: the value if nothing is computed.
  Expr untouched(const ir::Compute& c, ir::Scalar s);
  /// The statements added by `change`, under the guard unless it selects points of a reduction.
  void where_selected(const ir::Compute& c, const std::function<void()>& change);
  /// `target = value` or `target = combine(target, value)`, if there is a value.
  void store(const ir::Compute& c, Place target, const Value& x);
  /// The expression, preceded by locals for common subexpressions and for subscripts of neighbours around the ends of a
  /// dimension.
  Expr named_value(const Expr& e);
  /// The local that holds the neighbour of an index variable, `i > 0 ? i - 1 : n - 1` for `mod(i - 1, n)`; the index
  /// variable itself for `mod(i, n)`; null for other subscripts. Adds the local.
  Expr neighbour(const Expr& subscript);
  /// The same for `edge(i - 1, n)` and the like: `i - 1 >= 0 ? i - 1 : edge(i - 1, n)`.
  Expr place_at_boundary(const Expr& subscript, const ir::Boundary& b);
  /// The local of an earlier use of the subscript, or null.
  [[nodiscard]] Expr named_neighbour(const Expr& subscript) const;
  Value computed(const ir::Compute& c, std::size_t k);
  Value reduction(const ir::Compute& c, std::size_t k, ValueId total);
  /// A sized buffer for the values of all points of the statement.
  ValueId staging(const ir::Node& n, const ir::Compute& c, std::size_t k);

  // --- Lines of tensors: loop_lines.cpp
  // Hoists subscript checks along an index variable out of the loops.
  void check_ahead(const ir::Node& n, const ir::Compute& c, std::size_t k);
  [[nodiscard]] bool is_checked_ahead(ValueId tensor, std::size_t dimension, const Expr& subscript) const;
  /// True if the reduction may be reordered: no step can fail, and the operator is associative and commutative.
  bool reduces_lines(const ir::Compute& c, std::size_t k);
  /// A reduction whose innermost loop uses the runtime's partial results, unless a guard selects points.
  bool line(ValueId total, std::span<const int> labels) override;
  void line_reduction(ValueId total);
  /// True if the expression reads contiguous elements as the index variable increases.
  static bool is_line(const Expr& e, std::int32_t label);
  /// Accumulates many elements at once, with the reduction's index variable outermost: if contiguous lines run along
  /// the result, not along the sum.
  bool accumulates_lines(const ir::Compute& c, std::size_t k);
  void accumulated(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// The sum as products of a line and a scale factor, or nothing.
  std::optional<nest::AddProducts> added_products(const ir::Compute& c, const Expr& body, const Place& element);

  /// A subscript that needs no check at its use.
  struct Checked {
    ValueId tensor;
    std::size_t dimension;
    Expr subscript;
  };

  const LoopStep& step_;
  ir::Program values_;
  ir::LoopVariables variables_;
  LoopBounds bounds_;
  std::map<ValueId, ValueId> inside_;     ///< variables of the nest, by value of the loop
  std::map<ValueId, ValueId> operands_;   ///< by tensor or data scalar from outside
  std::map<std::string, ValueId> views_;  ///< by bounded subscripts
  std::map<ValueId, Expr> constants_;
  std::map<ValueId, Expr> inlined_;       ///< conditions inlined at their uses
  const ir::Compute* compute_ = nullptr;  ///< the current one
  std::size_t result_ = 0;                ///< its current result
  bool lines_ = false;                    ///< the current reduction may use lines
  std::vector<Checked> checked_;          ///< of the current statement
  std::vector<int> labels_;               ///< index variables of the enclosing loops, as numbered in the nest
  std::vector<ir::Label> open_labels_;    ///< their ranges
  bool names_neighbours_ = false;         ///< true while `named_value` converts an expression
  std::vector<std::pair<Expr, ValueId>> neighbours_;  ///< of the current expression, by subscript
  std::map<ValueId, int> use_counts_;                 ///< number of uses in the loop
};

}  // namespace tdsl::codegen
