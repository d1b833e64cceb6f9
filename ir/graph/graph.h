#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/expr.h"
#include "ir/graph/extent.h"
#include "ir/graph/foreign.h"
#include "ir/graph/format.h"
#include "ir/graph/scalar.h"
#include "ir/graph/source.h"
#include "ir/graph/sparse_iteration.h"
#include "ir/graph/value.h"
#include "runtime/routines/algorithms/solve_kind.h"

// The index graph, the first of the three forms: the common form of loops, whole-tensor operations and index notation.
//
// Meaning. A program is a region: nodes run in order; each defines its result values once (SSA). A value is a whole
// tensor of a fixed shape; rank 0 is a scalar. There are no source variables: an assignment defines a new value, and
// loops and branches carry values explicitly. Effects (Print, Assert, Output) happen in order. ir/eval/eval defines the
// meaning of every node; blocks and ranks do not exist at this level.

namespace tdsl::ir {

struct Type {
  Scalar scalar = Scalar::kF64;
  std::vector<Extent> shape;
  Format format{};

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  [[nodiscard]] bool has_sparse() const { return format.has_sparse(); }
  [[nodiscard]] bool is_compressed() const { return format.is_compressed(); }
  [[nodiscard]] bool is_coded() const { return format.is_coded(); }
};

struct ValueInfo {
  Type type;
  std::string name;  ///< the source name, or empty
  SourceRange range;
  std::vector<Extent> tile{};  ///< `tile (512, 256)`: block edges per dimension; empty: the planner's choice
};

/// The operator that combines values in a reduction or an `op=`, in index order.
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

/// An index variable and its half-open range.
struct Label {
  std::string name;
  Extent begin;
  Extent end;
};

/// The one computing node. For every point of `out` whose guard (over out and reduce labels) holds:
///   value(out) = monoid over all points of `reduce` (in row-major index order) whose guard holds of body
/// (without reduce labels: body itself). It is stored as follows:
///   - left empty: result[out - begin]; the result has exactly the extents of the out labels. A point whose guard never
///     holds gets the value of `base`; without base, `fill` if given, else (with reduce labels) the identity, else 0.
///     `combine` as below.
///   - left given: result[left(out)]; other elements keep `base` or, without base, are `fill`, else 0. With `combine`,
///     the element becomes combine(old, value), and several points may write one element, in row-major order of out;
///     without, each element is written at most once (run-time error).
/// All reads of base see its old value, also those in bodies. kArgMin/kArgMax: exactly one reduce label, the result is
/// i64, the label's value of the first optimum (first NaN if any), -1 if empty.
struct Compute {
  std::vector<Label> out;
  std::vector<Label> reduce;
  std::vector<Expr> bodies;      ///< one per result; labels are numbered out first, then reduce
  Expr guard;                    ///< bool; may be null. A guard without reduce labels selects points of out
  std::optional<Monoid> monoid;  ///< present exactly if `reduce` is not empty
  std::vector<Expr> left;
  std::optional<ValueId> base;
  std::optional<Monoid> combine;
  Expr fill;  ///< constant; may be null
  /// A sum of products of at least three float tensors, contracted in an order chosen when sizes are known: only
  /// affects rounding. Not part of the meaning.
  bool in_any_order = false;
  /// A count of the elements of a vector up to a value, `sum[b](i64(le(%1[b], x)))` or `lt`, whose elements ascend, as
  /// an enclosing condition ensures: they are searched. Not part of the meaning.
  bool by_search = false;
  /// Its derivative is 0: keys, which data select. Not part of the meaning.
  bool constant = false;
  /// Which stored elements of compressed operands the operation visits. Set by the last pass, `iteration`, for
  /// lowering; not part of the meaning.
  std::optional<SparseIteration> iteration{};
};

/// `n` of an input's type: determined by files or `--set`. Result: i64, rank 0.
struct Dimension {
  std::string name;
};
/// An extent found by data: the value of `count`, a rank-0 i64 that is not negative. `estimate`: of plans made before
/// the count is known. With a name, `--set NAME=K` is the estimate, and asserted in a run. Result: i64, rank 0.
struct Found {
  ValueId count;
  Extent estimate;
  std::string name;  ///< may be empty
};
/// `param lambda: f64 = 1e-3;`. At most one default is present: a constant, or a scalar of params and dimensions.
struct Param {
  std::string name;
  std::optional<Literal> default_value;
  std::optional<ValueId> computed_default;
  std::string default_text;  ///< the computed default as written in the source, for help texts
};
/// The param's default for help texts; nothing for a required option.
[[nodiscard]] std::optional<std::string> default_text(const Param& p);
/// `input X: f64[n, d];` The result's type is the declared one.
struct Input {
  std::string name;
};
/// Random numbers by global index. `site` identifies the call site (language page, section 6); iterations are the
/// iteration numbers of the enclosing loops, rank-0 i64 values, outermost first. The result has its declared type.
/// kSparse: a matrix whose elements are stored with a given probability, the last one of `iterations`, an f64 scalar,
/// and then uniform.
struct Random {
  enum class Kind : std::uint8_t { kUniform, kNormal, kSparse } kind = Kind::kUniform;
  std::uint64_t site = 0;
  std::vector<ValueId> iterations;
};

[[nodiscard]] std::string_view name_of(Random::Kind kind);

/// A library routine over whole tensors. Routines along lines (`is_line`) process every line of their first operand
/// along `axis` independently; the others are factorisations and solvers of float matrices, and of batches: the leading
/// dimensions of operands and results number the matrices of the last two. Batches of solve's and lstsq's operands
/// agree, or one has the extent 1 and serves all.
///   cumsum, cumprod, cummax, cummin  running sums, products, maxima and minima (nan propagates)
///   sort, argsort  ascending, stable, nan last
///   topk    (values, positions) of the k = extent of the results' axis largest, descending, nan last; ties by position
///   filter (a, mask)  the slices of a along `axis` at the positions of topk of the vector of bools `mask`, as many as
///           the result has: those where it is true, in order, then the others. Created by the pass `filters` only
///   fft, ifft  Fourier transforms of complex lines times `scale`: sum of x[j] exp(-2 pi i j k / n), + in ifft
///   rfft    the first n / 2 + 1 elements of the fft of a real line
///   irfft   the n reals, n the extent of the result's axis, whose rfft was given; without ifft's 1 / n
///   solve (A, b)   b and x have A's rank (matrices) or one less (vectors); `solves` is A's kind
///   cholesky (A)   lower factor; reads A's lower triangle
///   lu (A)         (p i64[m], L[m, k], U[k, n]) with A[p[i], j] = (L U)[i, j], k = min(m, n), partial pivoting
///   qr (A)         (Q[m, k], R[k, n]), diag(R) >= 0     svd (A)        (U[m, k], s[k], V'[k, n]), s descending
///   eigh (A)       (w[n], V[n, n]), w ascending; reads A's lower triangle
///   eig (A)        the same of any complex square matrix, w ascending by real, then imaginary part
///   inv (A)        det (A)                              lstsq (A, b)   minimum-norm least-squares solution
///   foreign (…)    a user kernel (foreign.h): operands are its `in`s in order, those of rank 0 by value, results its
///                  `out`s
/// In each column of U and V the component of largest magnitude is real and positive (the first of those that are
/// equal up to the square root of the rounding unit). Results of a complex matrix are complex, `s` and `w`, too. An
/// operand that is singular or not positive definite stops the run.
struct Routine {
  using SolveKind = rt::routines::SolveKind;
  enum class Kind : std::uint8_t {
    kCumsum,
    kCumprod,
    kCummax,
    kCummin,
    kSort,
    kArgsort,
    kTopk,
    kFilter,
    kFft,
    kIfft,
    kRfft,
    kIrfft,
    kSolve,
    kCholesky,
    kLu,
    kQr,
    kSvd,
    kEigh,
    kEig,
    kInv,
    kDet,
    kLstsq,
    kForeign
  } kind = Kind::kCumsum;
  std::vector<ValueId> operands;
  std::int64_t axis = 0;         ///< for routines along lines
  ForeignRef foreign = nullptr;  ///< for kForeign
  SolveKind solves = SolveKind::kGeneral;
  /// The factor of a Fourier transform of length n: 1, 1 / sqrt(n) or 1 / n.
  enum class Scale : std::uint8_t { kNone, kRoot, kWhole } scale = Scale::kNone;
};
[[nodiscard]] std::string_view name_of(Routine::Kind kind);
[[nodiscard]] std::string_view name_of(Routine::Scale scale);
[[nodiscard]] bool is_line(Routine::Kind kind);
/// fft, ifft, rfft, irfft.
[[nodiscard]] constexpr bool is_fourier(Routine::Kind kind) {
  return Routine::Kind::kFft <= kind && kind <= Routine::Kind::kIrfft;
}
/// True if a task may hold the routine on small matrices, like a reduction (runtime/routines/small).
[[nodiscard]] bool runs_in_tasks(Routine::Kind kind);
/// cumsum and the other running reductions.
[[nodiscard]] constexpr bool is_scan(Routine::Kind kind) { return kind <= Routine::Kind::kCummin; }

/// The product of at least three matrices, F0 F1 … of `sizes[0]` x `sizes[1]`, `sizes[1]` x `sizes[2]`, … elements, the
/// leading part of larger tensors; a transposed factor is read as [column, row]. The last factor may be a vector (a
/// tensor of rank 1; the last size is 1), and then so is the result. Defined from left to right. Any other order only
/// changes the rounding of float sums and may be chosen when sizes are known.
struct Chain {
  struct Factor {
    ValueId tensor;
    bool transposed = false;
  };
  std::vector<Factor> factors;
  std::vector<Extent> sizes;  ///< one more than the number of factors
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
  bool serial = false;  ///< runs as one task, see serial_loop.h; not part of the meaning
};
/// condition: arguments are the carried values, yields one bool. body: arguments [iteration number (i64, from 0),
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
/// Regions without arguments that yield the same values up to the rounding of re-associated float sums. The first one
/// defines the meaning; the selection is made when sizes are known. At least one region; none contains effects.
struct Choose {
  std::vector<Region> regions;
  std::vector<std::string> names;  ///< of the forms, for messages
};
/// Operators in one loop nest. Its meaning is that of its nodes, all of them Computes, one after the other; values that
/// are not yielded never exist as whole tensors. All nodes share the index variables `shared`: `labels[m][f]` is the
/// label of node m for shared variable f. If it is an out label, the node's value is *aligned*: the others read it only
/// at that index variable, so the part they need is complete. A reduce label *closes* the value: no other node reads
/// it. A result of i64 holds a count that its node computes in f64. With an `epilogue` there are two nodes that share
/// all index variables of the result, in order: a matrix product, and a map applied to each of its completed elements.
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
  bool implied = false;  ///< implied by a statement, not written explicitly: the message is printed alone
};
/// A condition on sizes, checked as soon as both sides are known; if it fails, the run stops with `message`.
struct Check {
  enum class Relation : std::uint8_t { kEqual, kAtMost } relation = Relation::kEqual;
  Extent left;
  Extent right;
  std::string message;           ///< `{left}` and `{right}` are replaced by the values
  std::optional<ValueId> guard;  ///< a rank-0 bool: the condition is checked only if it is true

  /// True if it may be checked earlier than written, even if its statement is never reached: sizes that must agree may,
  /// a slice's bounds may not.
  [[nodiscard]] bool may_move() const { return relation == Relation::kEqual && !guard; }
};
/// `output w;`: the current value under this name.
///
/// An `output` in a block appends records to a series. The series `begins` at the start of the program, with an empty
/// tensor, whose first dimension is that of the records; then each value is appended under the number of its
/// record, a rank-0 i64: 0, 1, 2, …
struct Output {
  std::string name;
  ValueId value;
  std::optional<ValueId> record = {};  ///< none: a whole tensor
  bool begins = false;

  [[nodiscard]] bool is_series() const { return record.has_value() || begins; }
};

/// `grad(loss, W1, W2)`: the derivatives of a float scalar with respect to `wrt`, float values that were visible where
/// `loss` was computed; results have their types. Created only by the frontend and replaced by ordinary nodes in
/// `differentiate`, the first pass: no other pass and no evaluator sees one.
struct Gradient {
  ValueId loss;
  std::vector<ValueId> wrt;
};

using Op = std::variant<Dimension, Found, Param, Input, Compute, Random, Routine, Chain, For, While, If, Choose, Fused,
                        Print, Assert, Check, Output, Gradient>;

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

/// The scalars that depend on params and dimensions only, through arithmetic outside loops and branches.
[[nodiscard]] std::set<ValueId> known_at_start(const Program& program);
[[nodiscard]] bool known_at_start(const Program& program, ValueId v);

/// Calls `f(const Node&)` for every node, outer nodes before their regions', in program order.
void for_each_node(const Region& region, const std::function<void(const Node&)>& f);
/// Every value a node uses as operand (expressions, extents of labels and of its result types, inits), excluding those
/// used only inside nested regions.
[[nodiscard]] std::vector<ValueId> operands_of(const Program& program, const Node& node);

}  // namespace tdsl::ir
