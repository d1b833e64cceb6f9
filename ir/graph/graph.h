#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/expr.h"
#include "ir/graph/extent.h"
#include "ir/graph/foreign.h"
#include "ir/graph/scalar.h"
#include "ir/graph/source.h"
#include "ir/graph/value.h"

// The index graph, form (a) of the IR. Loops, whole-tensor operations and index notation all arrive here.
//
// Meaning. A program is a region: nodes run in order; each defines its result values once (SSA). A value is a whole
// tensor of a fixed shape; rank 0 is a scalar. Variables of the source do not exist here: an assignment defines a new
// value, loops and branches carry values explicitly. Effects (Print, Assert, Output) happen in order.
// The meaning of every node is what ir/eval/eval computes; nothing here mentions blocks or ranks.

namespace tdsl::ir {

struct Type {
  Scalar scalar = Scalar::kF64;
  std::vector<Extent> shape;
  std::vector<bool> sparse;  ///< per dimension; empty means all dense

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  [[nodiscard]] bool has_sparse() const { return std::ranges::count(sparse, true) > 0; }
};

/// Whether the same dimensions are stored sparse.
[[nodiscard]] bool same_storage(const Type& a, const Type& b);

struct ValueInfo {
  Type type;
  std::string name;  ///< the source's name, or empty
  SourceRange range;
  std::vector<Extent> tile{};  ///< `tile (512, 256)`: block edges per dimension; empty: the planner's choice
  bool compressed = false;  ///< its blocks hold stored elements only (passes/sparse/storage); never set of what has no
                            ///< sparse dimension
};

/// How values meet in a reduction or an `op=`. Combination is in index order.
struct Monoid {
  enum class Kind : std::uint8_t { kSum, kProd, kMin, kMax, kAny, kAll, kArgMin, kArgMax, kUser };
  Kind kind = Kind::kSum;
  // kUser only: name, identity (a constant expression) and combine over Argument 0 and 1.
  std::string name;
  Expr identity;
  Expr combine;
};
[[nodiscard]] bool equal(const Monoid& a, const Monoid& b);
/// The identity as an expression of type `s` (kUser: its own); kMin and kMax: +-inf or the type's limits; kArg*: -1.
[[nodiscard]] Expr identity_of(const Monoid& m, Scalar s);
[[nodiscard]] std::string_view name_of(Monoid::Kind kind);

/// An index variable and the half-open range it runs over.
struct Label {
  std::string name;
  Extent begin;
  Extent end;
};

/// The one computing node. For every point of `out` whose guard (over out and reduce labels) holds:
///   value(out) = monoid over all points of `reduce` (in row-major index order) whose guard holds of body
/// (without reduce labels: body itself). Where it goes:
///   left empty: result[out - begin] has exactly the extents of the out labels; a point whose guard never holds is what
///     `base` has there, without base `fill` if given, else (with reduce labels) the identity, else 0; `combine` as
///     below;
///   left given: result[left(out)], other elements keep `base` or, without base, `fill`, else 0. With `combine`, the
///     element becomes combine(old, value), several points may meet, in row-major order of out; without, each element
///     is written at most once (run-time error).
/// base is read as it was before the node: bodies may read it too. kArgMin/kArgMax: exactly one reduce label, the
/// result is i64, the label's value of the first optimum (first NaN if any), -1 if empty.
struct Compute {
  std::vector<Label> out;
  std::vector<Label> reduce;
  std::vector<Expr> bodies;      ///< one per result; labels are numbered out first, then reduce
  Expr guard;                    ///< bool; may be null. A guard that mentions no reduce label selects points of out
  std::optional<Monoid> monoid;  ///< present exactly if `reduce` is not empty
  std::vector<Expr> left;
  std::optional<ValueId> base;
  std::optional<Monoid> combine;
  Expr fill;  ///< constant; may be null
  /// A sum of products of three float tensors or more, which are contracted in an order that is chosen where sizes are
  /// known: changes nothing but the rounding. No part of the meaning.
  bool in_any_order = false;
};

/// `n` of an input's type: bound by files or `--set`. Result: i64, rank 0.
struct Dimension {
  std::string name;
};
/// `param lambda: f64 = 1e-3;`. At most one default is present: a constant, or a scalar of params and dimensions.
struct Param {
  std::string name;
  std::optional<Literal> default_value;
  std::optional<ValueId> computed_default;
  std::string default_text;  ///< the computed default as it is written in the source, for help texts
};
/// The param's default as help texts show it; none for a required option.
[[nodiscard]] std::optional<std::string> default_text(const Param& p);
/// `input X: f64[n, d];` The result's type is the declared one.
struct Input {
  std::string name;
};
/// Random numbers by global index. `site` identifies the call site (language page, section 6); iterations are the
/// numbers of the enclosing loops' iterations, rank-0 i64 values, outermost first. Type as declared on the result.
/// kSparse: a matrix whose elements are there with a probability, the last one of `iterations`, an f64 scalar, and then
/// uniform.
struct Random {
  enum class Kind : std::uint8_t { kUniform, kNormal, kSparse } kind = Kind::kUniform;
  std::uint64_t site = 0;
  std::vector<ValueId> iterations;
};

[[nodiscard]] std::string_view name_of(Random::Kind kind);

/// A library routine over whole tensors. Routines along lines (`is_line`) work on every line of their one operand along
/// `axis` by itself; the others are factorisations and solvers of float matrices.
///   cumsum  running sums                              sort, argsort  ascending, stable, nan last
///   topk    (values, positions) of the k = extent of the results' axis largest, descending, nan last; equal ones by
///   position solve (A, b)   b and x vectors or matrices          cholesky (A)   lower factor; reads A's lower triangle
///   lu (A)         (p i64[m], L[m, k], U[k, n]) with A[p[i], j] = (L U)[i, j], k = min(m, n), partial pivoting
///   qr (A)         (Q[m, k], R[k, n]), diag(R) >= 0     svd (A)        (U[m, k], s[k], V'[k, n]), s descending
///   eigh (A)       (w[n], V[n, n]), w ascending; reads A's lower triangle
///   inv (A)        det (A)                              lstsq (A, b)   least norm among least squares
///   foreign (…)    a kernel of the user's (foreign.h): operands are its `in`s in order, those of rank 0 by value,
///   results its `out`s
/// Of each column of U and of eigh's V the component of largest magnitude is positive (the first of those that are
/// equal up to the square root of the rounding unit). A singular or not positive definite operand stops the run.
struct Routine {
  enum class Kind : std::uint8_t {
    kCumsum,
    kSort,
    kArgsort,
    kTopk,
    kSolve,
    kCholesky,
    kLu,
    kQr,
    kSvd,
    kEigh,
    kInv,
    kDet,
    kLstsq,
    kForeign
  } kind = Kind::kCumsum;
  std::vector<ValueId> operands;
  std::int64_t axis = 0;         ///< of routines along lines
  ForeignRef foreign = nullptr;  ///< of kForeign
};
[[nodiscard]] std::string_view name_of(Routine::Kind kind);
[[nodiscard]] bool is_line(Routine::Kind kind);

/// The product of at least three matrices, F0 F1 … of `sizes[0]` x `sizes[1]`, `sizes[1]` x `sizes[2]`, … elements: of
/// a larger tensor the first ones; a transposed factor is read as [column, row]. The last one may be a vector (a tensor
/// of rank 1; the last size is 1), and then the result is one. Multiplied from left to right. Every other order is as
/// good, changes nothing but the rounding of float sums, and may be taken where sizes are known.
struct Chain {
  struct Factor {
    ValueId tensor;
    bool transposed = false;
  };
  std::vector<Factor> factors;
  std::vector<Extent> sizes;  ///< one more than factors
};

struct Node;
struct Region {
  std::vector<ValueId> arguments;
  std::vector<Node> nodes;
  std::vector<ValueId> yields;
};

/// Body arguments: the index (i64), then one per init; yields one per init; results are the last yields (inits if the
/// range is empty). Bounds are rank-0 i64 values evaluated once; step is a non-zero constant, negative counts down
/// from begin to above end.
struct For {
  ValueId begin;
  ValueId end;
  std::int64_t step = 1;
  std::vector<ValueId> inits;
  Region body;
  bool serial = false;  ///< runs as one task, see serial_loop.h; no part of the meaning
};
/// condition: arguments the carried values, yields one bool. body: arguments [iteration number (i64, from 0),
/// carried...], yields carried.
struct While {
  std::vector<ValueId> inits;
  Region condition;
  Region body;
  bool serial = false;  ///< as in For
};
/// Regions without arguments; both yield one value per result. `condition` is a rank-0 bool.
struct If {
  ValueId condition;
  Region then_region;
  Region else_region;
};
/// Regions without arguments that yield the same values, but for the rounding of re-associated float sums. The first
/// one is what the node means; which one runs is decided where sizes are known. At least one region; none holds
/// effects.
struct Choose {
  std::vector<Region> regions;
  std::vector<std::string> names;  ///< of the forms, for people
};
/// Operators in one loop nest. It means what its nodes, all of them Computes, mean one after the other; what is not
/// yielded never exists as a whole tensor. All nodes run over the index variables `shared` together: `labels[m][f]` is
/// the label of node m that is number f of them. An out label there makes the node's value *aligned*: the others read
/// it at that index variable alone, so that a part of it is complete when they need it. A reduce label *closes* the
/// value: no other node reads it. With an `epilogue` it is two nodes that share all index variables of the result, in
/// order: a product of matrices, and what is computed of each of its elements where the product has left it.
struct Fused {
  bool epilogue = false;
  std::vector<Label> shared;
  std::vector<std::vector<std::int32_t>> labels;
  Region body;  ///< without arguments
};
struct Print {
  std::vector<std::variant<std::string, ValueId>> items;
};
struct Assert {
  ValueId condition;
  std::string message;
  bool implied = false;  ///< by what a statement means, not written as such: the message stands alone
};
/// A condition on sizes, checked as soon as both sides are known; where it does not hold the run stops with `message`.
struct Check {
  enum class Relation : std::uint8_t { kEqual, kAtMost } relation = Relation::kEqual;
  Extent left;
  Extent right;
  std::string message;           ///< `{left}` and `{right}` stand for the values
  std::optional<ValueId> guard;  ///< a rank-0 bool: only where it is true does the condition matter

  /// Whether it may be checked earlier than written, even if the place is never reached: sizes that must agree may, a
  /// slice's bounds may not.
  [[nodiscard]] bool may_move() const { return relation == Relation::kEqual && !guard; }
};
/// `output w;`: the value at this place under this name.
struct Output {
  std::string name;
  ValueId value;
};

/// `grad(loss, W1, W2)`: the derivatives of a float scalar with respect to `wrt`, float values that were visible where
/// `loss` was computed; results of their types. Only the frontend makes it, `differentiate`, the first pass, replaces
/// it by ordinary nodes: no other pass and no evaluator meets one.
struct Gradient {
  ValueId loss;
  std::vector<ValueId> wrt;
};

using Op = std::variant<Dimension, Param, Input, Compute, Random, Routine, Chain, For, While, If, Choose, Fused, Print,
                        Assert, Check, Output, Gradient>;

struct Node {
  SourceRange range;
  std::vector<ValueId> results;
  Op op;
};

struct Program {
  std::string name;                ///< file name without directory and extension
  std::vector<std::string> files;  ///< paths as given, indexed by SourceRange::file
  std::vector<ValueInfo> values;   ///< indexed by ValueId
  Region body;

  [[nodiscard]] const ValueInfo& info(ValueId v) const { return values[static_cast<std::size_t>(v.id)]; }
  [[nodiscard]] const Type& type(ValueId v) const { return info(v).type; }
  ValueId new_value(Type type, std::string value_name, SourceRange range);
};

/// Whether the scalar depends on params and dimensions only, through arithmetic outside of loops and branches.
[[nodiscard]] bool known_at_start(const Program& program, ValueId v);

/// Calls `f(const Node&)` for every node, outer nodes before their regions', in program order.
void for_each_node(const Region& region, const std::function<void(const Node&)>& f);
/// Every value a node mentions as operand (expressions, extents of labels and of its result types, inits), not those
/// used only inside nested regions.
[[nodiscard]] std::vector<ValueId> operands_of(const Program& program, const Node& node);

}  // namespace tdsl::ir
