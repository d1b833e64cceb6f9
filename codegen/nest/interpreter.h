#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/nest/interpret.h"
#include "ir/eval/elements.h"
#include "ir/eval/expr.h"
#include "ir/graph/check.h"

namespace tdsl::nest {

/// Runs one nest. Each part has its own file.
class NestInterpreter {
 public:
  NestInterpreter(const Nest& nest, const Inputs& inputs);

  std::map<int, ir::Array> task();
  ir::Array run();

 private:
  using CompiledExpr = ir::eval::CompiledExpr;
  using Slot = ir::eval::Slot;
  using Role = Variable::Role;
  struct Interval {
    std::int64_t lo = 0;
    std::int64_t hi = 0;
  };

  // --- Variables, expressions: interpret.cpp

  /// All results, one after the other.
  ir::Array packed();
  ir::Array& array(ValueId v) { return arrays_[static_cast<std::size_t>(nest_.viewed(v).id)]; }
  static ir::Array zeros(ir::Scalar type, std::vector<std::int64_t> shape);
  std::vector<std::int64_t> shape(const Variable& v);
  void set_capture(std::int32_t k, const Inputs& inputs);
  std::int64_t extent(const Extent& e);
  CompiledExpr& compiled(const Expr& e);
  Slot value(const Expr& e) { return compiled(e).value(indices_.data()); }
  std::int64_t whole(const Expr& e) { return compiled(e).whole(indices_.data()).value; }
  /// The element's number.
  std::size_t position(const Place& p, const std::vector<std::int64_t>& rest = {});
  Slot load(ValueId v, std::size_t at) { return ir::eval::element(array(v), at); }
  void store(ValueId v, std::size_t at, const Slot& x) { ir::eval::set_element(array(v), at, x); }
  void update(ValueId v, std::size_t at, const ir::Monoid& with, const Expr& e);
  Slot combined(const ir::Monoid& with, ir::Scalar type, const Slot& old, const Slot& next);

  // --- Statements, loops: interpret_statements.cpp

  [[nodiscard]] Interval interval(int index) const;
  Interval interval(int index, const TaskRange& r);
  template <class F>
  void each(int index, Interval over, const F& f) {
    for (std::int64_t i = over.lo; i < over.hi; ++i) {
      indices_[static_cast<std::size_t>(index)] = i;
      f();
    }
  }
  void let(const Let& l) { store(l.local, 0, value(l.value)); }
  void body(const Body& statements);
  /// Location of failures in expressions without one.
  [[nodiscard]] const ir::SourceRange& here() const { return place_.known() ? place_ : nest_.place; }
  void statement(const Statement& s);
  [[nodiscard]] Interval interval(const Range& r) { return {extent(r.begin), extent(r.end)}; }
  void count(const Count& c);
  void loop(const For& f);
  void each_part(int index, Interval range, const std::optional<Parts>& parts, const std::function<void()>& f);
  /// Small blocks, the last one smaller.
  void blocks(const For& f);
  void stored(const For& f, const Stored& s);
  /// True if the fibre's operand stores an element below the indices.
  [[nodiscard]] bool holds_something(const Fibre& fibre, int index);
  [[nodiscard]] bool is_stored(const ir::Array& a, int number, std::size_t at) const;
  void narrow(const Narrow& n);
  bool holds(const If& i);

  // --- Reductions, lines, products of rows: interpret_reductions.cpp

  ir::Monoid& monoid(ir::Monoid::Kind kind);
  void row(const RowReduction& r);
  /// `to += x * y`, for elements of parts.
  void add_product(const RowProducts& p, const std::vector<std::int64_t>& to, const std::vector<std::int64_t>& x,
                   const std::vector<std::int64_t>& y);
  void row_products(const RowProducts& p);
  void fill_rows(const FillRows& f);
  void mirror(const Mirror& m);
  void products(const AddProducts& p);
  /// Keeps the first of the best values, or the first nan.
  void offer(const Offer& o, bool largest);
  [[nodiscard]] bool locates_largest(ValueId v) const;
  void draw(const Draw& d);
  void sizes(const RequireSizes& r);
  void small_routine(const SmallRoutine& r);
  void line(const LineReduction& l);
  /// Row, column, and then the reduced indices.
  void blocked(const BlockedReduction& b, std::size_t depth);

  const Nest& nest_;
  const std::map<int, std::vector<bool>>& stored_;
  ir::Program values_;
  std::vector<ir::Array> arrays_;  ///< by variable
  std::vector<std::int64_t> indices_;
  std::vector<Interval> intervals_;
  ValueId result_;
  ir::Array returned_;              ///< return value of a function
  std::map<ValueId, double> best_;  ///< best value so far, by position variable
  std::map<const AddProducts*, Expr> products_;
  std::uint64_t seed_ = 0;
  ir::SourceRange place_;  ///< of the last statement that has one
  std::unordered_map<const ir::ExprNode*, std::unique_ptr<CompiledExpr>> compiled_;
  std::vector<Expr> kept_;
  std::map<std::pair<const ir::Monoid*, ir::Scalar>, Expr> combinations_;
  std::map<ir::Monoid::Kind, ir::Monoid> lines_;
};

}  // namespace tdsl::nest
