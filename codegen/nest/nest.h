#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/analysis/stored_walk.h"
#include "ir/graph/graph.h"

// Loop nests: what a task does, as typed imperative statements. A nest is built from the operation
// (codegen/loops/kernel_nest.h), verified, printed as C++, and interpreted in tests. The task gives an interval for
// each of the nest's first indices, the operands' elements in its boxes, and the results' tiles.
//
// Expressions are those of the index graph: `IndexRef` k is index k of the nest, `Read` of value k its variable k;
// extents mention variables, too.

namespace tdsl::nest {

using ir::Expr;
using ir::Extent;
using ir::ValueId;

/// A subscript that is compared with the dimension wherever it is evaluated; outside, the run stops.
struct Bound {
  int dimension = 0;
  Extent extent;
  std::string what;  ///< "p[i]` of `x", for the message
  ir::SourceRange place;
};

/// What expressions read and statements write.
struct Variable {
  enum class Role : std::uint8_t {
    kCapture,    ///< a scalar that the function takes, the same in all tasks
    kParameter,  ///< a scalar that a function of scalars takes and may change
    kOperand,    ///< elements that tasks read
    kResult,     ///< elements that tasks write
    kLocal,      ///< a scalar inside the function, or a tensor that lives as long as the task
    kView,       ///< another variable's elements, with subscripts that are bounded
    kPosition,   ///< where the best of offered values lies
  } role = Role::kLocal;
  std::string name;
  ir::Type type;
  int number = 0;  ///< of the operand; reads that are bounded differently are variables of the same operand
  std::vector<Bound> bounds{};   ///< of an operand, by dimension
  std::vector<Extent> origin{};  ///< of a result: the subscripts of its first element; none: zeros
  bool continued = false;        ///< a result whose elements have values before the nest runs
  std::optional<ValueId> of{};   ///< of a view: the variable
  bool resized = false;          ///< a local tensor that has no extents before it is given some
  bool compressed =
      false;  ///< an operand or a result of rank 2 whose blocks hold stored elements only; what is not stored is 0
  bool size = false;  ///< a capture: an integer of which sums and differences of a few do not wrap around, in tasks
                      ///< that have points
  /// A capture in the range of an index: near its begin, or near its end, but where the range is tiny.
  enum class Turn : std::uint8_t { kNone, kFew, kAllButFew } turn = Turn::kNone;
};

/// An index variable. Those of the task come first, with the range over which all tasks together run.
struct Index {
  std::string name;
  bool of_task = true;  ///< else it is a subscript that a Check computes
  Extent begin;
  Extent end;
};

/// The task's interval of the index, or a part of it.
struct TaskRange {
  std::optional<ValueId> begin;  ///< an integer local instead of where the task's interval begins
  std::optional<ValueId> end;
};
/// `0..%1`: what a loop runs over in tasks that read tensors whole.
struct Range {
  Extent begin;
  Extent end;
};
/// An element of a result, or a local without subscripts.
struct Place {
  ValueId variable;
  std::vector<Expr> subscripts;
};
/// `%1[i, *]`: one level of a compressed operand, at indices that run around it. `%1[*]`: its outermost.
struct Fibre {
  ValueId operand;
  std::vector<int> outer;
  friend bool operator==(const Fibre&, const Fibre&) = default;
};
/// `stored %1[i, *] or %2[i, *] ahead %3[j]`: subscripts in the task's interval of the index below which one of the
/// operands holds something, ascending; at least all below which something is not 0. `and`: below which all of them do;
/// `with`: below which the first does. In it a read of the operands at the indices of all their levels is the element's
/// value, 0 where one has none; other reads of compressed operands are lookups. Of several operands all levels are
/// walked together.
struct Stored {
  std::vector<Fibre> fibres;
  ir::StoredLoop::Meet meet = ir::StoredLoop::Meet::kAny;
  std::vector<Place> ahead{};  ///< of one operand: elements, or of a compressed operand what lies at its outermost
                               ///< index, to be fetched before the loop gets to their index
};
/// `or`, `and`, `with`.
[[nodiscard]] std::string_view name_of(ir::StoredLoop::Meet meet);
/// What a loop runs over.
using Walk = std::variant<TaskRange, Range, Stored>;

struct Statement;
using Body = std::vector<Statement>;

/// How the iterations of a loop may run.
enum class Order : std::uint8_t { kSerial, kSimd };
/// `side %7 until sub(%0, %1)`: a boolean local that is true before the index gets there. `side %7 if ge(i, %1)`: one
/// that is the same in all iterations.
struct Side {
  ValueId local;
  Expr until;
  Expr condition;  ///< either this or `until`
};
/// Parts of a loop's range in which boolean locals are constant, so that what depends on them is chosen when the loop
/// is compiled.
struct Parts {
  std::vector<Side> sides;
  /// `inside %8 from 1 to sub(%0, 1) where ge(i, 1)`: a local that is true but for some iterations at the ends, which
  /// run one by one. `from` and `to` may stand several times.
  std::optional<ValueId> inside;
  std::vector<Expr> from, to;
  Expr where;  ///< nothing is inside where it does not hold; may be null
};
/// `for i over task simd { … }`
struct For {
  int index = 0;
  Walk over;
  Order order = Order::kSerial;
  Body body;
  std::optional<Parts> parts{};
};
/// `let %5 = mul(%1[i], 2.0)`: a local constant.
struct Let {
  ValueId local;
  Expr value;
};
/// `start %5 from %2[i] fresh 0.0`: a local that changes. It begins as the element, or in the first task of a result's
/// tile as the value.
struct Start {
  ValueId local;
  Place from;
  Expr fresh;  ///< null: as the element in any case
};
/// `narrow %6 = begin of k over task by %1[i]`: where a loop begins (ends) that observes `value <= k` (`k < value`).
struct Narrow {
  ValueId local;
  int index = 0;
  TaskRange within;
  bool begins = false;
  Expr value;
  bool past = false;  ///< one past the value
  bool safe = true;   ///< the value may be computed where there is nothing to loop over
};
/// `check at0 = %3[i] in %0 "p[i]` of `x"`: the index is the value from here on; outside of 0..extent the run stops.
struct Check {
  int index = 0;
  Expr value;
  Bound bound;
};
/// `var %5 = 0.0`: a local that changes; without a value it begins as zero.
struct Var {
  ValueId local;
  Expr value;  ///< may be null
};
/// `count %5 from 0 to %1 by 2 { … }`: the local is a constant of every iteration. Bounds are evaluated once, and the
/// end is not reached.
struct Count {
  ValueId local;
  Expr begin;
  Expr end;
  std::int64_t step = 1;  ///< not 0
  Body body;
};
/// `repeat { … } while e { … }`: the first block runs, then, where the condition holds, the second, and all again.
struct While {
  Body before;
  Expr condition;
  Body body;
};
/// `require e "text"`: stops the run where the condition does not hold.
struct Require {
  Expr condition;
  std::string message;
};
/// `return e`: the value of a function of scalars; its last statement.
struct Return {
  Expr value;
};
/// `%2[i] = %1[i]`
struct Store {
  Place to;
  Expr value;
};
/// `%2[i] combine sum %1[i]`
struct Update {
  Place to;
  ir::Monoid with;
  Expr value;
};
/// `if nonempty [0..%1] { … }`: whether the ranges hold something.
struct Nonempty {
  std::vector<Range> ranges;
};
/// `if points k, l { … }`: whether the task's intervals hold something.
struct HasPoints {
  std::vector<int> indices;
};
/// `if mine g, at0 of 0 { … }`: whether computed indices lie in the task's interval, or in a dimension of the result's
/// tile.
struct IsMine {
  struct Member {
    int index = 0;
    int dimension = -1;  ///< of the tile; none: the interval of the index
  };
  std::vector<Member> members;
};
struct If {
  std::variant<Expr, HasPoints, IsMine, Nonempty> condition;
  Body body;
  Body otherwise{};
};
/// `lanes sum %5 along k over task { let … yield %1[k] }`: a sum or product along one index into a local, through the
/// runtime's partial results (rt::lanes).
struct LineReduction {
  ValueId local;
  ir::Monoid::Kind kind = ir::Monoid::Kind::kSum;
  int index = 0;
  TaskRange over;
  std::vector<Let> lets;
  Expr value;
};
/// A reduction into a block of rows and columns that stays in registers (rt::blocked_reduction). x values do not depend
/// on the column, y values do not on the row. Of a sum of products, products are added without a rounding in between.
struct BlockedReduction {
  Place to;
  int row = 0;
  int column = 0;
  std::vector<int> along;
  std::vector<Let> x, y;
  ir::Monoid with;
  Expr value;            ///< of locals
  Expr guard;            ///< of locals; may be null
  bool numbers = false;  ///< a minimum or maximum that is no nan where no x or y is nan or inf
};
// --- Of tasks that read tensors whole, and change them

/// `copy %3 to %5`: all elements, into other memory of the same extents.
struct Copy {
  ValueId from;
  ValueId to;
};
/// `keep %6 = %3`: a copy that is a tensor of its own.
struct Keep {
  ValueId local;
  ValueId from;
};
/// `resize %5`: the local tensor gets the extents that its type has here; its elements are anything.
struct Resize {
  ValueId local;
};
/// `inside first + k * 2, k in 0..n, of dimension 1 of %3 "what"`: stops the run at the first subscript on the line
/// that is outside.
struct CheckLine {
  ValueId tensor;
  Extent first;
  std::int64_t step = 1;
  Extent count;
  Bound bound;  ///< the dimension, and what messages say
};
/// `lines sum %5 along k in 0..n { yield %1[k] }`: a reduction along one index into a local, by the rules of
/// runtime/kernels/rows.h.
struct RowReduction {
  ValueId local;
  ir::Monoid::Kind kind = ir::Monoid::Kind::kSum;
  int index = 0;
  Range over;
  Expr value;
  bool dot = false;  ///< a sum of products of two lines without gaps
};
/// `products %5[j] along k in 0..n line j in 0..m { scale … yield … }`: to[j] += scale(k) * value(k, j), k by k; lines
/// have no gaps.
struct AddProducts {
  Place to;
  int index = 0;
  Range over;
  int along = 0;
  Range line;
  Expr scale;
  Expr value;
};
/// `locate argmin %5 of f64`: nothing has been offered yet, and the position is -1.
struct Locate {
  ValueId local;
  ir::Monoid::Kind kind = ir::Monoid::Kind::kArgMin;
  ir::Scalar of = ir::Scalar::kF64;
};
/// `offer %5 e at k`: the position is the index if the value is better than those before.
struct Offer {
  ValueId local;
  Expr value;
  int index = 0;
};
/// `draw %5 uniform 7 [%1]`: a constant, the random number of a call site and of iterations.
struct Draw {
  ValueId local;
  ir::Random::Kind kind = ir::Random::Kind::kUniform;
  std::uint64_t site = 0;
  std::vector<Expr> iterations;
};
/// `sizes %0 equal %1 "text"`: stops the run where, under the guard, the relation does not hold.
struct RequireSizes {
  ir::Check::Relation relation = ir::Check::Relation::kEqual;
  Extent left;
  Extent right;
  Expr guard;  ///< may be null
  std::string message;
};

/// `fill %2 0.0`: all elements of the result's tile.
struct Fill {
  ValueId result;
  Expr value;
};

struct Statement {
  std::variant<For, Let, Start, Narrow, Check, Store, Update, If, LineReduction, BlockedReduction, Fill, Var, Count,
               While, Require, Return, Copy, Keep, Resize, CheckLine, RowReduction, AddProducts, Locate, Offer, Draw,
               RequireSizes>
      op;
  ir::SourceRange place{};  ///< of failures in expressions without a place
};

/// What the nest becomes.
enum class Form : std::uint8_t {
  kKernel,    ///< what a task does: failures are collected, and the run stops when the task has ended
  kFunction,  ///< a function of scalars that gives a scalar: what fails stops the run at once
  kTask,      ///< what one task does on whole tensors, in any number of statements: what fails stops the run at once
};

struct Nest {
  std::string name;
  std::vector<Index> indices;
  std::vector<Variable> variables;
  Body fresh;  ///< runs before the body in the first task of every tile of the result; fills only
  Body body;
  Form form = Form::kKernel;
  bool only_hit = false;    ///< the body runs only in tasks that write an element of their tile
  ir::SourceRange place{};  ///< of failures without a place

  [[nodiscard]] const Variable& variable(ValueId v) const { return variables[static_cast<std::size_t>(v.id)]; }
  /// The variable that a view shows, else the variable itself.
  [[nodiscard]] ValueId viewed(ValueId v) const { return variable(v).of.value_or(v); }
  [[nodiscard]] const Index& index(int k) const { return indices[static_cast<std::size_t>(k)]; }
};

}  // namespace tdsl::nest
