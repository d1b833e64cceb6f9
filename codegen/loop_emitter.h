#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/emit_expr.h"
#include "codegen/emit_loop.h"
#include "codegen/loop_bounds.h"
#include "codegen/names.h"
#include "codegen/writer.h"
#include "ir/loop_variables.h"

namespace tdsl::codegen {

/// One serial loop on its way to a C++ function. The parts live in one file each.
class LoopEmitter {
 public:
  explicit LoopEmitter(const LoopRequest& request);

  EmittedLoop run();

 private:
  // --- The function, its names, operands and results: emit_loop.cpp
  [[nodiscard]] std::string_view type(ValueId v) const;
  [[nodiscard]] bool is_tensor(ValueId v) const { return program_.type(v).rank() > 0; }
  /// The variable of a value of the loop, which is named like the first of its values that has a name.
  std::string name(ValueId v);
  /// A value from outside: captured, or read from an operand.
  std::string outer(ValueId v);
  /// A scalar where it is used.
  std::string text(ValueId v);
  /// The constant that the value is, or null.
  [[nodiscard]] Expr constant_of(ValueId v) const;
  /// With constants where their values are read.
  [[nodiscard]] Expr spelled(const Expr& e) const;
  std::string line(const ir::SourceRange& place);
  /// Index variables of the loops around are called by their names.
  ExprEmitter expressions();
  std::string element(const ir::ExprNode& node, const std::vector<std::string>& subscripts);
  /// `L(i + 1, inside(j, …))`
  std::string place_of(ValueId tensor, const std::vector<Expr>& subscripts, const std::vector<std::string>& texts, const ir::SourceRange& range);
  void operand(Writer& w, std::size_t k);
  void outputs(Writer& w);
  /// Tensors that neither come from outside nor are results.
  void locals(Writer& w);
  /// The extents, as C++.
  std::string sizes_of(ValueId v);
  /// Whether the tensor has other extents in other iterations.
  [[nodiscard]] bool changes_size(ValueId v) const;
  void outermost();

  // --- Statements: loop_statements.cpp
  void count_uses();
  void comment(const ir::SourceRange& range);
  void region(const ir::Region& r);
  /// A condition that only the branch after it mentions is written there.
  bool is_condition_of(const ir::Node& n, const ir::Node& next);
  void node(const ir::Node& n);
  /// Gives a variable that several values share its place, unless it has one.
  void declare(ValueId v);
  /// A tensor's elements are copied. `changes`: what follows may give the variable another value.
  void assign(ValueId v, const std::string& value, bool changes = false);
  /// `targets = sources`, all at once; what is one variable already needs nothing.
  void assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& sources);
  /// What a loop carries begins with `inits`; tensors of the outermost loop are there already.
  void begin(const ir::Node& n, const std::vector<ValueId>& arguments, const std::vector<ValueId>& inits);
  void for_loop(const ir::Node& n, const ir::For& f);
  void while_loop(const ir::Node& n, const ir::While& w);
  void branch(const ir::Node& n, const ir::If& i);
  void assertion(const ir::Node& n, const ir::Assert& a);
  void check(const ir::Node& n, const ir::Check& c);
  void random(const ir::Node& n, const ir::Random& r);

  // --- Computes: loop_computes.cpp
  /// A value as text; `held`: the condition under which there is one (a guard that may hold nowhere).
  struct Value {
    std::string text;
    std::string held;
    ir::Scalar type = ir::Scalar::kF64;
  };
  void compute(const ir::Node& n, const ir::Compute& c);
  /// Constants are written where they are used.
  bool constant(const ir::Node& n, const ir::Compute& c);
  void scalar(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// `L(i, j) = value;`, for every point.
  void tensor(const ir::Node& n, const ir::Compute& c, std::size_t k);
  void point(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// All values before the first of them is stored.
  void staged(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// `L(i, j) = value;`
  void store_point(const ir::Node& n, const ir::Compute& c, std::size_t k, const Value& x);
  /// Checks in front of the loops what an index variable runs through there.
  void check_ahead(const ir::Node& n, const ir::Compute& c, std::size_t k);
  [[nodiscard]] bool is_checked_ahead(ValueId tensor, std::size_t dimension, const Expr& subscript) const;
  /// Where a point goes without a left side: positions count from where the index variables begin.
  std::string own_element(ValueId v, const ir::Compute& c);
  /// The position of a point among those of the statement.
  std::string position(const ir::Compute& c);
  /// Loops over index variables, with what `f` writes inside; `labels` are numbered behind those of the loops around.
  void loops(const std::vector<ir::Label>& labels, const std::function<void()>& f);
  /// Zero, `fill` or the identity: what a value is when nothing is computed.
  std::string untouched(const ir::Compute& c, ir::Scalar s);
  /// What `change` writes, under the guard if that selects no points of a reduction.
  void where_selected(const ir::Compute& c, const std::function<void()>& change);
  /// `target = value;` or `target = combine(target, value);`, if there is a value.
  void store(const ir::Compute& c, const std::string& target, const Value& x);
  void meet(const ir::Monoid& m, ir::Scalar s, const std::string& target, const std::string& value);
  void meet_by_user(const ir::Monoid& m, const std::string& target, const std::string& value);
  /// The expression, behind declarations of what it computes several times.
  std::string with_named_parts(const Expr& e);
  Value value(const ir::Compute& c, std::size_t k);
  Value reduction(const ir::Compute& c, std::size_t k, const std::string& total);
  /// Sums of many elements at once, the reduction's index variable outside: where lines lie along the result, not along the sum.
  bool accumulates_lines(const ir::Compute& c, std::size_t k);
  void accumulated(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// `rt::add_products` of a line and what it is scaled by, or empty.
  std::string added_products(const ir::Compute& c, const Expr& body, const std::string& line);
  /// `for (Index i = …`, opened.
  void leave_labels(std::size_t first);
  void open_loop(const ir::Label& l, const std::string& name);
  /// Memory for the values of all points of the statement, sized.
  std::string staging(const ir::Node& n, const ir::Compute& c, std::size_t k);
  /// Whether the order of the reduction's steps is free: none can fail, and the operator is associative and commutative.
  bool reduces_lines(const ir::Compute& c, std::size_t k);
  /// The reduction over the last index variable as an expression, through the runtime's partial results.
  std::string line_reduction(const ir::Compute& c, std::size_t k);
  /// Whether the expression reads neighbours in memory as the index variable counts.
  bool is_line(const Expr& e, std::int32_t label);

  /// A subscript that needs no check where it is evaluated.
  struct Checked {
    ValueId tensor;
    std::size_t dimension;
    Expr subscript;
  };

  const LoopRequest& request_;
  const LoopStep& step_;
  const FamilyProgram& program_;
  ir::Program values_;
  ir::LoopVariables variables_;
  LoopBounds bounds_;
  NameTable table_;
  Writer body_;
  std::map<ValueId, std::string> names_;     ///< of variables
  std::map<ValueId, std::string> operands_;  ///< of tensors and data scalars from outside
  std::map<ValueId, Expr> constants_;
  std::map<ValueId, std::string> inlined_;  ///< conditions written where they are used
  std::set<ValueId> declared_;
  std::vector<Checked> checked_;      ///< of the statement at hand
  std::vector<std::string> staged_;   ///< declarations of memory for values that are stored together
  std::vector<ValueId> captures_;
  std::vector<std::string> labels_;       ///< index variables of the loops around, in C++
  std::vector<std::string> label_names_;  ///< and in the program
  std::map<ValueId, int> uses_;  ///< mentions in the loop
  std::uint32_t last_line_;
  bool checks_ = false;
  bool uses_file_ = false;
  bool draws_ = false;
};

}  // namespace tdsl::codegen
