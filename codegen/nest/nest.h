#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/analysis/by_value.h"
#include "ir/graph/graph.h"

// Loop nests: the body of a task as typed imperative statements. A nest is built from the operation
// (codegen/loops/build_nest.h), verified, printed as C++, and interpreted in tests. The task supplies an interval for
// each of the nest's leading indices, the operands' elements in its boxes, and the results' tiles.
//
// Expressions are those of the index graph: `IndexRef` k is index k of the nest, `Read` of value k its variable k;
// extents also refer to variables.

namespace tdsl::nest {

using ir::Expr;
using ir::Extent;
using ir::ValueId;

/// A subscript that is checked against the dimension wherever it is evaluated; if it is out of bounds, the run stops.
struct Bound {
  int dimension = 0;
  Extent extent;
  std::string what;  ///< "p[i]` of `x", for the message
  ir::SourceRange place;
};

/// A location that expressions read and statements write.
struct Variable {
  enum class Role : std::uint8_t {
    kCapture,    ///< a scalar parameter of the function, the same in all tasks
    kParameter,  ///< a parameter of a scalar function, which may modify it
    kOperand,    ///< elements read by tasks
    kResult,     ///< elements written by tasks
    kLocal,      ///< a scalar inside the function, or a tensor that lives as long as the task; in nests of rows a
                 ///< tensor that exists for one block of rows at a time, its first dimension
    kView,       ///< an alias of another variable's elements with bounded subscripts
    kPosition,   ///< the position of the best offered value
  } role = Role::kLocal;
  std::string name;
  ir::Type type;   ///< compressed: an operand or result whose absent elements are 0
  int number = 0;  ///< of the operand; reads with different bounds are different variables of the same operand
  std::vector<Bound> bounds{};   ///< for an operand, by dimension
  std::vector<Extent> origin{};  ///< for a result: the subscripts of its first element; empty: zeros
  bool continued = false;        ///< a result whose elements are initialised before the nest runs
  bool assembled = false;  ///< a compressed result whose elements are stored or updated at any positions, in any order;
                           ///< an element stored twice stops the run
  std::optional<Extent> place{};  ///< for one of several results packed into one tensor: position of its first element
  std::optional<ValueId> of{};    ///< for a view: the viewed variable
  bool resized = false;           ///< a local tensor whose extents are set by a Resize
  bool size = false;  ///< a capture: an integer for which sums and differences of a few such values do not overflow, in
                      ///< tasks with points
  /// A capture within the range of an index: near its begin, or near its end, except for tiny ranges.
  enum class Turn : std::uint8_t { kNone, kFew, kAllButFew } turn = Turn::kNone;
};

/// An index variable. Those of the task come first, with their range over all tasks.
struct Index {
  std::string name;
  bool of_task = true;  ///< false: computed by a Check or Within, or the index of a loop over a Range
  Extent begin;
  Extent end;
  bool whole = false;  ///< an index of the task with the interval begin..end in every task
  int block = -1;      ///< an index of the task that runs over the current block of this index; -1: none
};

/// The task's interval of the index, or a part of it.
struct TaskRange {
  std::optional<ValueId> begin;  ///< an integer local that replaces the begin of the task's interval
  std::optional<ValueId> end;
};
/// `0..%1`: the range of a loop in tasks that read whole tensors.
struct Range {
  Extent begin;
  Extent end;
};
/// An element of a result, or a local without subscripts.
struct Place {
  ValueId variable;
  std::vector<Expr> subscripts;
};
/// `%1[i, *]`: one level of a compressed operand, at the indices of enclosing loops. `%1[*]`: its outermost level.
struct Fibre {
  ValueId operand;
  std::vector<int> outer;
  friend bool operator==(const Fibre&, const Fibre&) = default;
};
/// `stored %1[i, *] from %5 to %6`: the part of a row from one subscript to another, found by search; of a matrix.
/// `stored %1[i, *] or %2[i, *] ahead %3[j]`: subscripts in the task's interval of the index at which one of the
/// operands stores something, ascending; at least all those with a nonzero element. `and`: at which all of them do;
/// `with`: at which the first does. Within the loop, a read of the operands at the indices of all their levels is the
/// element's value, 0 if not stored; other reads of compressed operands are lookups. Several operands are co-iterated
/// over all levels. `stored %1[*] by counts`: the loops over the rows of %1 and over their elements may run once per
/// distinct value of a column. `by passes`: so may each update in the loops over elements, one after the other; a value
/// of the row is stored after its loop. `stored %1[i, *] sums %5`: %5 is added up in partial sums.
struct Stored {
  std::vector<Fibre> fibres;
  ir::Merge merge = ir::Merge::kUnion;
  ir::ByValue by = ir::ByValue::kNone;  ///< of the rows of a matrix, with its elements inside
  TaskRange within{};                   ///< the part of the task's interval; only for a row of a single operand
  std::vector<Place> ahead{};           ///< for a single operand: elements, or the contents at the outermost index of a
                                        ///< compressed operand, to prefetch before the loop reaches their index
  std::vector<ValueId> sums{};  ///< for a row of a single matrix: float locals to which the body adds and that it
                                ///< does not read; they are added up in lanes
};
/// `blocks of %0`: the task's interval of the index in blocks of consecutive rows. Within the loop, indices with this
/// `block` run over the rows of the current block, and local tensors hold these rows.
struct Blocks {
  Extent bytes;                    ///< read and written per row; determines the number of rows of a block
  bool products = false;           ///< the body contains products of matrices or register-blocked reductions
  std::optional<ValueId> codes{};  ///< `codes %1`: where columns of this operand are coded, loops in the body run once
                                   ///< per distinct value, and blocks have many rows
};
/// The iteration space of a loop.
using Walk = std::variant<TaskRange, Range, Stored, Blocks>;

struct Statement;
using Body = std::vector<Statement>;

/// How the iterations of a loop may run.
enum class Order : std::uint8_t { kSerial, kSimd };
/// `side %7 until sub(%0, %1)`: a boolean local that is true before the index reaches the bound. `side %7 if ge(i,
/// %1)`: one that is loop-invariant.
struct Side {
  ValueId local;
  Expr until;
  Expr condition;  ///< either this or `until`
};
/// Parts of a loop's range in which boolean locals are constant, so that code depending on them is specialised at
/// compile time.
struct Parts {
  std::vector<Side> sides;
  /// `inside %8 from 1 to sub(%0, 1) where ge(i, 1)`: a local that is true except for some iterations at the ends,
  /// which are not vectorised. `from` and `to` may be repeated.
  std::optional<ValueId> inside;
  std::vector<Expr> from, to;
  Expr where;  ///< there is no interior unless it holds; may be null
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
/// `start %5 from %2[i] fresh 0.0`: a mutable local. It is initialised to the element, or in the first task of a
/// result's tile to the value.
struct Start {
  ValueId local;
  Place from;
  Expr fresh;  ///< null: always initialised to the element
};
/// `narrow %6 = begin of k over task by %1[i]`: the begin (end) of a loop subject to `value <= k` (`k < value`).
struct Narrow {
  ValueId local;
  int index = 0;
  TaskRange within;
  bool begins = false;
  Expr value;
  bool past = false;  ///< one past the value
  bool safe = true;   ///< the value may be computed even if the loop is empty
};
/// `check at0 = %3[i] in %0 "p[i]` of `x"`: sets the index to the value; if it is outside 0..extent, the run stops.
struct Check {
  int index = 0;
  Expr value;
  Bound bound;
};
/// `var %5 = 0.0`: a mutable local; without a value it is zero.
struct Var {
  ValueId local;
  Expr value;  ///< may be null
};
/// `count %5 from 0 to %1 by 2 { … }`: the local is constant within an iteration. Bounds are evaluated once; the end is
/// exclusive.
struct Count {
  ValueId local;
  Expr begin;
  Expr end;
  std::int64_t step = 1;  ///< not 0
  Body body;
};
/// `repeat { … } while e { … }`: repeats the first block and then, while the condition holds, the second.
struct While {
  Body before;
  Expr condition;
  Body body;
};
/// `require e "text"`: stops the run unless the condition holds.
struct Require {
  Expr condition;
  std::string message;
};
/// `return e`: the value of a scalar function; its last statement.
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
/// `if nonempty [0..%1] { … }`: true if the ranges are nonempty.
struct Nonempty {
  std::vector<Range> ranges;
};
/// `if points [k, l] { … }`: true if the task's intervals are nonempty.
struct HasPoints {
  std::vector<int> indices;
};
/// `if mine [g, at0 of 0] { … }`: true if computed indices are within the task's interval, or within a dimension of the
/// result's tile.
struct IsMine {
  struct Member {
    int index = 0;
    int dimension = -1;  ///< of the tile; none: the interval of the index
  };
  std::vector<Member> members;
};
/// `if within c = %1[i] { … }`: sets the index to the value; true if it is in the range of the index.
struct Within {
  int index = 0;
  Expr value;
};
struct If {
  std::variant<Expr, HasPoints, IsMine, Nonempty, Within> condition;
  Body body;
  Body otherwise{};
};
/// `lanes sum %5 along k over task { let … yield %1[k] }`: a sum or product along one index into a local, using the
/// runtime's partial results (rt::lanes) in the interior, if there is one, and one element after the other at the ends.
/// `where lt(%1[k], %6)`: only elements for which the mask holds count; sums, products, minima and maxima. The mask is
/// evaluated for all elements, and so is the value; `only where`: the value of those that count only, since it may stop
/// the run, or costs more than a branch. `first where le(%1[k], %6)`: a count whose mask holds for the first elements
/// only, as they ascend: found by search.
struct LineReduction {
  ValueId local;
  ir::Monoid::Kind kind = ir::Monoid::Kind::kSum;
  int index = 0;
  TaskRange over;
  std::vector<Let> lets;
  Expr value;
  std::optional<Parts> parts{};  ///< without sides
  Expr mask{};                   ///< cannot stop the run; without parts; may be null
  enum class Mask : std::uint8_t { kAll, kOnly, kFirst } masks = Mask::kAll;
};
/// A reduction into a block of rows and columns held in registers (rt::blocked_reduction). x values do not depend on
/// the column, y values do not on the row. A sum of products may use fused multiply-adds.
struct BlockedReduction {
  Place to;
  int row = 0;
  int column = 0;
  std::vector<int> along;
  std::vector<Let> x, y;
  ir::Monoid with;
  Expr value;            ///< in terms of locals
  Expr guard;            ///< in terms of locals; may be null
  bool numbers = false;  ///< a minimum or maximum that is not nan if no x or y is nan or inf
  /// The elements that are reduced: conjuncts that are half-planes of row and column (facts.h); null: all of them.
  Expr points{};
};
// --- Statements of tasks that read and modify whole tensors

/// `copy %3 to %5`: copies all elements to another tensor with the same extents.
struct Copy {
  ValueId from;
  ValueId to;
};
/// `keep %6 = %3`: a copy as a separate tensor.
struct Keep {
  ValueId local;
  ValueId from;
};
/// `resize %5`: sets the local tensor's extents to those of its type at this point; its elements are unspecified.
struct Resize {
  ValueId local;
};
/// `inside %2 step 2 count %0 of %3 dimension 1 in %1 "what"`: stops the run at the first subscript of the line that is
/// out of bounds.
struct CheckLine {
  ValueId tensor;
  Extent first;
  std::int64_t step = 1;
  Extent count;
  Bound bound;  ///< the dimension, and the text for messages
};
/// `lines sum %5 along k in 0..n { let … yield %1[k] }`: a reduction along one index into a local, or a result of rank
/// 0, by the rules of runtime/kernels/rows.h. In nests of rows the range is `over task`. An argmin or argmax sets the
/// local to the position; the local contains no earlier reduction.
struct RowReduction {
  ValueId local;
  ir::Monoid::Kind kind = ir::Monoid::Kind::kSum;
  int index = 0;
  std::variant<Range, TaskRange> over;
  Expr value;
  bool dot = false;  ///< a dot product of two contiguous lines
  std::vector<Let> lets{};
};
/// `products %5[j] along k in 0..n line j in 0..m { scale … yield … }`: to[j] += scale(k) * value(k, j) for one k after
/// the other; lines are contiguous.
struct AddProducts {
  Place to;
  int index = 0;
  Range over;
  int along = 0;
  Range line;
  Expr scale;
  Expr value;
};
/// `locate argmin %5 of f64`: resets the position to -1, with no value offered yet.
struct Locate {
  ValueId local;
  ir::Monoid::Kind kind = ir::Monoid::Kind::kArgMin;
  ir::Scalar of = ir::Scalar::kF64;
};
/// `offer %5 e at k`: sets the position to the index if the value is better than all previous ones.
struct Offer {
  ValueId local;
  Expr value;
  int index = 0;
};
/// `draw %5 uniform 7 [%1]`: a constant, the random number of a call site and iterations.
struct Draw {
  ValueId local;
  ir::Random::Kind kind = ir::Random::Kind::kUniform;
  std::uint64_t site = 0;
  std::vector<Expr> iterations;
};
/// `sizes %0 equal %1 "text"`: stops the run if, under the guard, the relation does not hold.
struct RequireSizes {
  ir::Check::Relation relation = ir::Check::Relation::kEqual;
  Extent left;
  Extent right;
  Expr guard;  ///< may be null
  std::string message;
};
/// `routine solve [%3, %4] to [%5]`, `routine solve lower […] to […]`: a routine on small matrices
/// (runtime/routines/small). Operands are read before the first result is written, so a result may be an operand. A
/// result of rank 0 is a mutable local.
struct SmallRoutine {
  ir::Routine::Kind kind = ir::Routine::Kind::kSolve;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  ir::Routine::SolveKind solves = ir::Routine::SolveKind::kGeneral;  ///< what `solve` knows of its matrix
};

// --- Statements of nests of rows. A place with fewer subscripts than dimensions is a part of the tensor.

/// `multiply rows %4 by %1 with %2 block 0 over [j, k]`: a product of matrices, or of a matrix and a vector, for the
/// rows of the current block, in one call.
struct RowProducts {
  enum class Kind : std::uint8_t {
    kRows,    ///< to(i, j) = sum of x(i, k) * y(k, j)
    kSums,    ///< to(a, b) += sum over the rows of x(i, a) * y(i, b)
    kUpper,   ///< the same for a <= b; other elements are unspecified until they are mirrored
    kDot,     ///< to(i) = sum of x(i, j) * y(j)
    kScaled,  ///< to(j) += sum over the rows of x(i, j) * y(i)
  } kind = Kind::kRows;
  Place to, x, y;
  int block = 0;
  std::vector<int> along;   ///< the other indices, in the order of the formula
  bool transposed = false;  ///< y is y(j, k)
};
/// `rows`, `sums`, `upper`, `dot`, `scaled`.
[[nodiscard]] std::string_view name_of(RowProducts::Kind kind);
/// `clear %4 block 0 0.0`: sets the elements of the current block's rows.
struct FillRows {
  Place to;
  int block = 0;
  Expr value;
};
/// `mirror %4 over 1`: elements below the diagonal become those above it; the index is that of the rows.
struct Mirror {
  ValueId to;
  int along = 0;
};

/// `fill %2 0.0`: sets all elements of the result's tile.
struct Fill {
  ValueId result;
  Expr value;
};

struct Statement {
  std::variant<For, Let, Start, Narrow, Check, Store, Update, If, LineReduction, BlockedReduction, Fill, Var, Count,
               While, Require, Return, Copy, Keep, Resize, CheckLine, RowReduction, AddProducts, Locate, Offer, Draw,
               RequireSizes, SmallRoutine, RowProducts, FillRows, Mirror>
      op;
  ir::SourceRange place{};  ///< location of failures in expressions without one
};

/// The kind of function that the nest becomes.
enum class Form : std::uint8_t {
  kKernel,    ///< a task body: failures are collected, and the run stops after the task
  kFunction,  ///< a function of scalars that returns a scalar: a failure stops the run at once
  kTask,      ///< the body of one task on whole tensors, with any number of statements: a failure stops the run at once
  kRows,      ///< a kernel of several operators on blocks of rows, with any number of results packed into one
};

struct Nest {
  std::string name;
  std::vector<Index> indices;
  std::vector<Variable> variables;
  Body fresh;  ///< runs before the body in the first task of every tile of the result; fills only
  Body body;
  Form form = Form::kKernel;
  bool only_hit = false;    ///< the body runs only in tasks that write an element of their tile
  ir::SourceRange place{};  ///< location of failures without one

  [[nodiscard]] const Variable& variable(ValueId v) const { return variables[static_cast<std::size_t>(v.id)]; }
  /// The variable viewed by a view, else the variable itself.
  [[nodiscard]] ValueId viewed(ValueId v) const { return variable(v).of.value_or(v); }
  [[nodiscard]] const Index& index(int k) const { return indices[static_cast<std::size_t>(k)]; }
};

}  // namespace tdsl::nest
