#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph/scalar.h"
#include "ir/graph/source.h"
#include "ir/graph/value.h"

namespace tdsl::ir {

/// Calls the arm of `arms` for the held alternative. There is no catch-all: a missing arm is a compile error.
template <class... Arms>
struct Overload : Arms... {
  using Arms::operator()...;
};
template <class... Arms>
Overload(Arms...) -> Overload<Arms...>;
template <class Variant, class... Arms>
decltype(auto) match(Variant&& v, Arms&&... arms) {
  return std::visit(Overload{std::forward<Arms>(arms)...}, std::forward<Variant>(v));
}

struct ExprNode;

/// A scalar expression evaluated once per point of an index space; immutable, shared. Rewrites return the same handle
/// when nothing changed. Integer arithmetic wraps; runtime/kernels/scalar_math.h defines every operator.
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  [[nodiscard]] explicit operator bool() const { return node_ != nullptr; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  [[nodiscard]] const ExprNode* id() const { return node_.get(); }

 private:
  std::shared_ptr<const ExprNode> node_;
};

/// `3`, `2.5`, `true`: a constant of the node's type.
struct Constant {
  Literal value;
};
/// `i`: the index variable number `label` of the enclosing Compute (out labels first, then reduce labels); i64.
struct IndexRef {
  std::int32_t label = 0;
};
/// `%4[i, j + 1]`: one element of a tensor; no subscripts for a rank-0 value. Subscripts are i64 expressions; they are
/// evaluated, and must be in bounds, only where the element is needed (protected by guards, branches and ranges).
struct Read {
  ValueId tensor;
  std::vector<Expr> subscripts;
};
/// `$0`, `$1`: the operands of a user monoid's combine expression, the variables of a procedure.
struct Argument {
  std::int32_t position = 0;
};
struct Unary {
  UnaryOp op;
  Expr operand;
};
/// Operands have one common type, already promoted (kPow on floats may have an i64 right operand).
struct Binary {
  BinaryOp op;
  Expr left;
  Expr right;
};
/// `if c then a else b`; only the branch taken is evaluated.
struct Select {
  Expr condition;
  Expr when_true;
  Expr when_false;
};
/// Conversion to the node's type; float to integer truncates and stops the run if it does not fit.
struct Cast {
  Expr operand;
};

/// `newton(x, 2.0)`: the result of a procedure (procedure.h) of scalars.
struct Apply {
  std::shared_ptr<const struct Procedure> procedure;
  std::vector<Expr> arguments;
};

using ExprOp = std::variant<Constant, IndexRef, Read, Argument, Unary, Binary, Select, Cast, Apply>;

struct ExprNode {
  SourceRange range;
  Scalar type = Scalar::kF64;
  ExprOp op;
};

// Factories: infer the type and check the operands' types (TDSL_CHECK). They fold constants only if the result is
// exactly that of the run.
[[nodiscard]] Expr constant(Scalar type, Literal value, SourceRange range = {});
[[nodiscard]] Expr constant_i64(std::int64_t value, SourceRange range = {});
[[nodiscard]] Expr index_ref(std::int32_t label, SourceRange range = {});
[[nodiscard]] Expr read(Scalar element_type, ValueId tensor, std::vector<Expr> subscripts, SourceRange range = {});
[[nodiscard]] Expr argument(Scalar type, std::int32_t position, SourceRange range = {});
[[nodiscard]] Expr unary(UnaryOp op, Expr operand, SourceRange range = {});
/// Both operands must have the same type (but see kPow).
[[nodiscard]] Expr binary(BinaryOp op, Expr left, Expr right, SourceRange range = {});
[[nodiscard]] Expr select(Expr condition, Expr when_true, Expr when_false, SourceRange range = {});
/// The operand itself if it already has the type.
[[nodiscard]] Expr cast(Scalar type, Expr operand, SourceRange range = {});

/// Structural equality, ignoring source ranges.
[[nodiscard]] bool equal(const Expr& a, const Expr& b);
/// Structural hash consistent with equal().
[[nodiscard]] std::size_t hash(const Expr& e);
/// Tells apart nodes of one alternative and type by their own fields, without children; 0 for every Apply.
[[nodiscard]] std::int64_t own_number(const ExprOp& op);
/// Calls `f(const ExprNode&)` on every node, parents before children.
template <class F>
void for_each_node(const Expr& e, const F& f);
/// True if `f(const ExprNode&)` holds for some node.
template <class F>
[[nodiscard]] bool any_node(const Expr& e, const F& f);
/// True if `f(const Read&)` holds for some read.
template <class F>
[[nodiscard]] bool any_read(const Expr& e, const F& f);
/// Bottom-up rewrite: children first, then `f(expr)` on the rebuilt node, which returns it or a replacement. Shares
/// unchanged parts.
template <class F>
[[nodiscard]] Expr rewrite(const Expr& e, const F& f);

/// The direct children of a node, in order: a view, valid as long as the node.
class Children {
 public:
  Children() = default;
  explicit Children(const std::vector<Expr>& all) : many_(all.data()), size_(all.size()) {}
  template <class... Parts>
  explicit Children(const Expr& first, const Parts&... more) : few_{&first, &more...}, size_(1 + sizeof...(more)) {}

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Expr;
    Iterator() = default;
    Iterator(const Children& of, std::size_t at) : of_(&of), at_(at) {}
    const Expr& operator*() const { return (*of_)[at_]; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return {*of_, at_++}; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const Children* of_ = nullptr;
    std::size_t at_ = 0;
  };
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  const Expr& operator[](std::size_t k) const { return many_ != nullptr ? many_[k] : *few_[k]; }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }
  operator std::vector<Expr>() const { return {begin(), end()}; }  // NOLINT(google-explicit-constructor): a copy

 private:
  std::array<const Expr*, 3> few_{};
  const Expr* many_ = nullptr;
  std::size_t size_ = 0;
};
[[nodiscard]] Children children(const ExprNode& node);
/// The same node with other children (same number); the same handle if none differs.
[[nodiscard]] Expr with_children(const Expr& e, const std::vector<Expr>& children);

template <class F>
void for_each_node(const Expr& e, const F& f) {
  f(*e);
  for (const Expr& child : children(*e)) for_each_node(child, f);
}

template <class F>
bool any_node(const Expr& e, const F& f) {
  return f(*e) || std::ranges::any_of(children(*e), [&](const Expr& child) { return any_node(child, f); });
}

template <class F>
bool any_read(const Expr& e, const F& f) {
  return any_node(e, [&](const ExprNode& n) {
    const auto* r = std::get_if<Read>(&n.op);
    return r != nullptr && f(*r);
  });
}

template <class F>
Expr rewrite(const Expr& e, const F& f) {
  const Children old = children(*e);
  std::vector<Expr> parts;  // once one differs
  for (std::size_t k = 0; k < old.size(); ++k) {
    Expr part = rewrite(old[k], f);
    if (parts.empty() && part.id() == old[k].id()) continue;
    if (parts.empty()) parts = old;
    parts[k] = std::move(part);
  }
  return f(parts.empty() ? e : with_children(e, parts));
}

}  // namespace tdsl::ir
