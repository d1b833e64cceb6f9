#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/loops/blocking.h"
#include "codegen/loops/build_nest.h"
#include "codegen/nest/build.h"

namespace tdsl::codegen {

/// Statements of a nest under construction. The derived class for a context (kernel, serial loop, procedure, fused
/// rows) defines the translation of reads, index variables and sizes.
class StatementNest {
 public:
  StatementNest() = default;
  StatementNest(const StatementNest&) = delete;
  StatementNest& operator=(const StatementNest&) = delete;

 protected:
  using Body = nest::Body;
  using Place = nest::Place;
  using Role = nest::Variable::Role;
  ~StatementNest() = default;

  // --- Defined by the context

  /// The nest's expression for a read, an index variable or an argument; null: only the operands are translated.
  virtual Expr part(const Expr& e) = 0;
  /// The nest's extent for an integer that occurs in sizes.
  virtual Extent size(ValueId v) { return Extent::of(v); }
  /// True if both branches of the select, an expression of the nest, are computed.
  [[nodiscard]] virtual bool takes_both(const ir::Select& /*s*/) const { return false; }

  // --- Translation to the nest

  Expr of_nest(const Expr& e);
  Extent of_nest(const Extent& e);
  std::vector<Extent> of_nest(std::vector<Extent> shape);

  // --- Variables and statements

  ValueId added(nest::Variable variable) { return nest::added(nest_, std::move(variable)); }
  ValueId local(std::string name, ir::Scalar type) { return nest::added_local(nest_, std::move(name), type); }
  [[nodiscard]] Expr local_read(ValueId v) const { return nest::scalar_read(nest_, v); }

  void add(decltype(nest::Statement::op) op) { body_->push_back({std::move(op), place_}); }
  void append(Body body);
  /// The statements that `f` adds.
  template <class F>
  Body collected(const F& f) {
    Body body;
    std::swap(body, *body_);
    f();
    std::swap(body, *body_);
    return body;
  }
  /// The statements that `f` adds, under the condition if there is one.
  template <class F>
  void where(Expr condition, const F& f) {
    if (!condition) return f();
    Body body = collected(f);
    add(nest::If{std::move(condition), std::move(body)});
  }
  /// Sets a scalar; its first assignment declares it, as a constant unless it `changes`.
  void assign(ValueId local, Expr value, bool changes);
  /// `to = value`, or its update.
  void change(Place to, const std::optional<ir::Monoid>& with, Expr value);
  /// The value with locals for its common subexpressions; `named` also adds the statements that define the locals.
  nest::Named in_parts(Expr value);
  Expr named(Expr value);

  nest::Nest nest_;
  Body top_;
  Body* body_ = &top_;
  ir::SourceRange place_;       ///< location of added statements
  std::set<ValueId> declared_;  ///< scalars
};

/// Statements of Computes: loops over index variables, checked operands, reductions. The context also defines the
/// iteration: over the task's intervals or over whole ranges.
class ComputeNest : public StatementNest {
 protected:
  explicit ComputeNest(const NestRequest& request);
  ~ComputeNest() = default;

  // --- Defined by the context

  /// Opens the loop over an index variable of the Compute. Adds statements that compute its range.
  virtual nest::For enter(int label) = 0;
  virtual void leave(int label) = 0;
  /// Encloses a loop and the statements that compute its range in the condition that these can be evaluated.
  virtual Body with_range(Body body) { return body; }
  /// Encloses the loop over an index variable in a loop over its tiles, if it has any.
  virtual Body in_tiles(int /*label*/, Body body) { return body; }
  /// True if a loop over this body may be vectorised.
  [[nodiscard]] virtual bool vectorises(int /*label*/, const Body& /*body*/) const { return false; }
  /// Adds a reduction whose innermost loop is a primitive of the runtime; false, adding nothing, if impossible.
  virtual bool line(ValueId total, std::span<const int> labels) = 0;

  // --- Variables

  /// Captures a host value, or an integer in sizes.
  nest::Variable& capture(ValueId v);
  [[nodiscard]] bool is_dimension(ValueId v, ValueId tensor) const;
  nest::Variable operand_variable(ValueId tensor, int number);
  [[nodiscard]] nest::Bound bound(std::size_t dimension, Extent extent, const Expr& subscript, ValueId tensor,
                                  const ir::SourceRange& place) const;

  // --- Loops

  /// Loops over the index variables, the first outermost, around the statements that `inner` adds; with `vectors` the
  /// innermost may be vectorised.
  void loops(std::span<const int> labels, bool vectors, const std::function<void()>& inner);
  /// Accumulates along the index variables: as a line if possible, otherwise by the statements that `point` adds.
  void accumulate(ValueId total, std::span<const int> labels, const std::function<void()>& point);

  /// A register-blocked reduction into the element.
  nest::BlockedReduction blocked_reduction(const ir::Compute& compute, const Blocking& blocks, Place to);

  const NestRequest& request_;
  const OperationProgram& program_;
  std::map<ValueId, ValueId> captures_;
  std::vector<ValueId> captured_;         ///< see BuiltNest
  std::vector<std::string> label_names_;  ///< of the Compute, for messages
};

/// The nest of fused operators.
[[nodiscard]] BuiltNest build_rows_nest(const NestRequest& request, const OperationStep& step);

/// The numbers `first`, `first` + 1, …
[[nodiscard]] std::vector<int> numbered(std::size_t first, std::size_t count);

}  // namespace tdsl::codegen
