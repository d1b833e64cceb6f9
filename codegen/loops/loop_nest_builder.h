#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/loops/loop_bounds.h"
#include "codegen/loops/loop_nest.h"
#include "ir/analysis/loop_variables.h"

namespace tdsl::codegen {

/// One serial loop on its way to a nest. The parts live in one file each.
class LoopNestBuilder {
 public:
  explicit LoopNestBuilder(const LoopNestRequest& request);

  LoopNest run();

 private:
  using Body = nest::Body;
  using Place = nest::Place;

  // --- Variables, values, elements: loop_nest.cpp
  void add_captures();
  [[nodiscard]] bool is_tensor(ValueId v) const { return program_.type(v).rank() > 0; }
  /// The nest's variable that holds a value of the loop, or one from outside.
  ValueId variable(ValueId v);
  ValueId variable_inside(ValueId v);
  ValueId outer(ValueId v);
  ValueId capture(ValueId here);
  ValueId operand(ValueId here);
  /// A scalar where it is used.
  Expr value(ValueId v);
  /// The constant that the value is, or null.
  [[nodiscard]] Expr constant_of(ValueId v) const;
  /// With constants where their values are read.
  [[nodiscard]] Expr spelled(const Expr& e) const;
  /// As an expression of the nest: what is read of tensors is bounded unless it is inside.
  Expr of_nest(const Expr& e);
  Extent of_nest(const Extent& e);
  std::vector<Extent> of_nest(std::vector<Extent> shape);
  nest::Range of_nest(const ir::Label& l) { return {of_nest(l.begin), of_nest(l.end)}; }
  /// The tensor's variable, or a view of it that bounds these subscripts.
  ValueId view(ValueId tensor, const std::vector<Expr>& subscripts, const ir::SourceRange& range);
  [[nodiscard]] std::string subscript_text(ValueId tensor, const Expr& subscript) const;
  /// Whether the tensor has other extents in other iterations.
  [[nodiscard]] bool changes_size(ValueId v) const;
  [[nodiscard]] std::string name(ValueId v) const;

  // --- Statements: loop_statements.cpp
  void add(decltype(nest::Statement::op) op);
  template <class F>
  Body collected(const F& f) {
    Body body;
    std::swap(body, *body_);
    f();
    std::swap(body, *body_);
    return body;
  }
  void count_uses();
  void region(const ir::Region& r);
  /// A condition that only the branch after it mentions is written there.
  bool is_condition_of(const ir::Node& n, const ir::Node& next);
  void node(const ir::Node& n);
  /// Gives a variable that several values share its place, unless it has one.
  void declare(ValueId v);
  /// `changes`: what follows may give the variable another value.
  void assign(ValueId v, Expr x, bool changes = false);
  void copy(ValueId v, ValueId from);
  /// `targets = sources`, all at once; what is one variable already needs nothing.
  void assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& sources);
  /// What a loop carries begins with `inits`; tensors of the outermost loop are there already.
  void begin(const ir::Node& n, const std::vector<ValueId>& arguments, const std::vector<ValueId>& inits);
  /// The region, and then `targets = its yields`, which is no line of the program.
  void region_giving(const ir::Region& r, const std::vector<ValueId>& targets);
  void for_loop(const ir::Node& n, const ir::For& f);
  void while_loop(const ir::Node& n, const ir::While& w);
  void branch(const ir::Node& n, const ir::If& i);
  void random(const ir::Node& n, const ir::Random& r);
  void check(const ir::Check& c);

  // --- Computes: loop_computes.cpp
  /// A value; `held`: the bool under which there is one (a guard that may hold nowhere), or no variable.
  struct Value {
    Expr value;
    ValueId held;
  };
  void compute(const ir::Node& n, const ir::Compute& c);
  /// Constants are written where they are used.
  bool constant(const ir::Node& n, const ir::Compute& c);
  void scalar(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// `L[i, j] = value`, for every point.
  void tensor(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// All values before the first of them is stored.
  void staged(const ir::Node& n, const ir::Compute& c, std::size_t k);
  void store_point(const ir::Node& n, const ir::Compute& c, std::size_t k, const Value& x);
  /// The position of a point among those of the statement.
  std::vector<Expr> position(const ir::Compute& c);
  /// Loops over index variables around what `f` adds; they are numbered behind those of the loops around.
  void loops(const std::vector<ir::Label>& labels, const std::function<void()>& f);
  void open_labels(const std::vector<ir::Label>& labels);
  void close_labels(std::size_t first);
  [[nodiscard]] nest::For loop_over(const ir::Label& l, int index, Body body);
  /// Zero, `fill` or the identity: what a value is when nothing is computed.
  Expr untouched(const ir::Compute& c, ir::Scalar s);
  /// What `change` adds, under the guard if that selects no points of a reduction.
  void where_selected(const ir::Compute& c, const std::function<void()>& change);
  /// `target = value` or `target = combine(target, value)`, if there is a value.
  void store(const ir::Compute& c, Place target, const Value& x);
  /// The expression, behind names for what it computes several times.
  Expr named(const Expr& e);
  Value computed(const ir::Compute& c, std::size_t k);
  Value reduction(const ir::Compute& c, std::size_t k, ValueId total);
  /// Memory for the values of all points of the statement, sized.
  ValueId staging(const ir::Node& n, const ir::Compute& c, std::size_t k);

  // --- Lines of tensors: loop_lines.cpp
  /// Checks in front of the loops what an index variable runs through there.
  void check_ahead(const ir::Node& n, const ir::Compute& c, std::size_t k);
  [[nodiscard]] bool is_checked_ahead(ValueId tensor, std::size_t dimension, const Expr& subscript) const;
  /// Whether the order of the reduction's steps is free: none can fail, and the operator is associative and
  /// commutative.
  bool reduces_lines(const ir::Compute& c, std::size_t k);
  /// The reduction over the last index variable, through the runtime's partial results.
  void line_reduction(const ir::Compute& c, std::size_t k, ValueId total);
  /// Whether the expression reads neighbours in memory as the index variable counts.
  static bool is_line(const Expr& e, std::int32_t label);
  /// Sums of many elements at once, the reduction's index variable outside: where lines lie along the result, not along
  /// the sum.
  bool accumulates_lines(const ir::Compute& c, std::size_t k);
  void accumulated(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// The sum as products of a line and what it is scaled by, or nothing.
  std::optional<nest::AddProducts> added_products(const ir::Compute& c, const Expr& body, const Place& element);

  /// A subscript that needs no check where it is evaluated.
  struct Checked {
    ValueId tensor;
    std::size_t dimension;
    Expr subscript;
  };

  const LoopNestRequest& request_;
  const LoopStep& step_;
  const FamilyProgram& program_;
  ir::Program values_;
  ir::LoopVariables variables_;
  LoopBounds bounds_;
  LoopNest result_;
  Body top_;
  Body* body_ = &top_;
  ir::SourceRange place_;                 ///< of statements that are added
  std::map<ValueId, ValueId> inside_;     ///< variables of the nest, by the loop's
  std::map<ValueId, ValueId> captures_;   ///< by host value
  std::map<ValueId, ValueId> operands_;   ///< by tensor or data scalar from outside
  std::map<std::string, ValueId> views_;  ///< by what they bound
  std::map<ValueId, Expr> constants_;
  std::map<ValueId, Expr> inlined_;  ///< conditions written where they are used
  std::set<ValueId> declared_;
  std::vector<Checked> checked_;          ///< of the statement at hand
  std::vector<int> labels_;               ///< index variables of the loops around, as the nest's
  std::vector<std::string> label_names_;  ///< and in the program
  std::map<ValueId, int> uses_;           ///< mentions in the loop
};

}  // namespace tdsl::codegen
