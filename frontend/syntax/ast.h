#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/scalar.h"
#include "ir/graph/source.h"

/// The abstract syntax of a `.tdsl` file as written, with nothing inferred.
///
/// Every node is a plain struct in a closed `std::variant`: passes use `std::visit` with one overload per alternative,
/// so a missing one is a compile error. Nodes are immutable and shared. Each comment shows the printed form. Names are
/// unresolved: `n` is a `Name` whether it is a variable, a dimension or an index.
namespace tdsl::frontend::ast {

using ir::SourceRange;

struct Expr;
struct Stmt;
struct Function;
using ExprPtr = std::shared_ptr<const Expr>;
using StmtPtr = std::shared_ptr<const Stmt>;

/// Maximum nesting depth of nodes; the parser reports `nesting-too-deep` beyond it. Recursive passes may rely on it.
inline constexpr std::uint32_t kMaxDepth = 1000;
/// Maximum nesting depth of blocks, and number of conditions of an `if`: each arm is a block inside the previous ones.
inline constexpr std::uint32_t kMaxBlocks = 250;

/// A name as written, with its location.
struct Identifier {
  std::string name;
  SourceRange range;
};

// --- Expressions ---------------------------------------------------------------------------------------------------

enum class UnaryOp : std::uint8_t { kNegate, kNot, kInvert };

// clang-format off
enum class BinaryOp : std::uint8_t {
  kAdd, kSub, kMul, kDiv, kMod, kPow, kMatMul,
  kBitAnd, kBitOr, kBitXor, kShiftLeft, kShiftRight,
  kEq, kNe, kLt, kLe, kGt, kGe,
  kAnd, kOr,
};
// clang-format on

/// `42`, `1_000_000`, `0xFF`, `0b1010`. Takes the type of the other operand, by default i64. `text` is the spelling.
/// Numbers from 2^63 on have the bits of a u64, the only type that holds them; 2^63 directly under unary minus is
/// INT64_MIN (whose negation wraps to itself, the intended value).
struct IntegerLiteral {
  std::int64_t value = 0;
  std::string text;
  bool beyond_i64 = false;
};

/// `1.0`, `2.5e-3`, `inf`, `nan`, and `2i` (`value` times the imaginary unit). f64, or f32 next to f32. `text` is the
/// spelling (for exact conversion to f32).
struct FloatLiteral {
  double value = 0;
  std::string text;
  bool imaginary = false;
};

/// `true`, `false`.
struct BoolLiteral {
  bool value = false;
};

/// `"ij,jk->ik"`, with escapes resolved. Only an item of `print`, the message of `assert` or an argument of `einsum`.
struct StringLiteral {
  std::string value;
};

/// `x`: a variable, param, index, dimension or (in a tuple target) a new name.
struct Name {
  std::string name;
};

/// `-a`, `!a`, `~a`.
struct Unary {
  UnaryOp op = UnaryOp::kNegate;
  ExprPtr operand;
};

/// `a + b`, `A @ B`, `a ** b`, `a && b`. `op_range` is the operator's location.
struct Binary {
  BinaryOp op = BinaryOp::kAdd;
  ExprPtr lhs;
  ExprPtr rhs;
  SourceRange op_range;
};

/// `A'`.
struct Transpose {
  ExprPtr operand;
};

/// `if c then a else b`.
struct Conditional {
  ExprPtr condition;
  ExprPtr then_value;
  ExprPtr else_value;
};

/// `f64(x)`, `T(x)`: a scalar type used as a function.
struct Cast {
  ir::Scalar type = ir::Scalar::kF64;
  ExprPtr operand;
  std::string parameter = {};  ///< a type parameter in place of `type`, else empty
};

/// One argument of a call: `x`, or `axis=0`, `axis=(0, 1)`, `keepdims=true` (with a name).
struct Argument {
  std::optional<Identifier> name;
  ExprPtr value;  ///< may be a `Tuple` or `StringLiteral`
  SourceRange range;
};

/// `fn(t, y) = -k * y`, `fn(y) { … }`: an argument or the default value of a parameter. The function has no name.
struct Lambda {
  std::shared_ptr<const Function> function;
};

/// `f(a, b, axis=0)`; also `where(c, a, b)` and `sparse(A)`, whose callees are the names `where` and `sparse`.
struct Call {
  Identifier callee;
  std::vector<Argument> arguments;
};

/// `(a, b)` with two or more elements: after `return`, on the right of a tuple `=`, and as a named argument's value.
struct Tuple {
  std::vector<ExprPtr> elements;
};

/// A subscript that is an expression: `i + 1`.
struct IndexSubscript {
  ExprPtr value;
};

/// A subscript that is a slice: `2:5`, `::2`, `:`. Omitted parts are null.
struct SliceSubscript {
  ExprPtr start;
  ExprPtr stop;
  ExprPtr step;
};

/// `...`: all dimensions that have no subscript of their own.
struct EllipsisSubscript {};

/// One subscript between the brackets of `A[…]`.
struct SubscriptItem {
  SourceRange range;
  std::variant<IndexSubscript, SliceSubscript, EllipsisSubscript> node;
};

/// `A[i, 1:3]`, `(A @ B)[i, j]`.
struct Subscript {
  ExprPtr base;
  std::vector<SubscriptItem> items;
};

/// `i in lower..upper by step`: half-open. `step` is null if omitted.
struct IndexRange {
  Identifier name;
  ExprPtr lower;
  ExprPtr upper;
  ExprPtr step;
  SourceRange range;
};

/// One index of a reduction: `k`, or `k in 0..i` (with `lower` and `upper`, and `step` if written).
struct ReductionIndex {
  Identifier name;
  ExprPtr lower;
  ExprPtr upper;
  ExprPtr step;
  SourceRange range;
  [[nodiscard]] bool has_range() const { return lower != nullptr; }
};

/// `sum[i, k in 0..i where k < j](body)`. `op` is a built-in reduction or a monoid. `guard` is null if omitted.
struct Reduction {
  Identifier op;
  std::vector<ReductionIndex> indices;
  ExprPtr guard;
  ExprPtr body;
};

/// `[1.0, 2.0]`, `[[1, 2], [3, 4]]`, `[a, b]`. At least one element.
struct ArrayLiteral {
  std::vector<ExprPtr> elements;
};

using ExprNode = std::variant<IntegerLiteral, FloatLiteral, BoolLiteral, StringLiteral, Name, Unary, Binary, Transpose,
                              Conditional, Cast, Call, Tuple, Subscript, Reduction, ArrayLiteral, Lambda>;

/// An expression. `range` includes enclosing parentheses, whose number is `parentheses` (the printer emits only
/// necessary ones). `depth` is 1 for a leaf, else one more than the deepest child.
struct Expr {
  SourceRange range;
  ExprNode node;
  std::uint32_t parentheses = 0;
  std::uint32_t depth = 1;
};

// --- Types ---------------------------------------------------------------------------------------------------------

/// One dimension of a type: `n + 1`, `sparse m`. `extent` uses only literals, names, unary minus and `+ - * / %`; it is
/// null for `...`, which stands for any number of dimensions.
struct Dimension {
  ExprPtr extent;
  bool sparse = false;
  SourceRange range;
};

/// `f64`, `f64[n, sparse m]`, `sparse f64[n, m]`. Rank 0 has no dimensions. `sparse` is the prefix; the flags of
/// `dimensions` are as written (the prefix does not set them).
struct TypeExpr {
  ir::Scalar scalar = ir::Scalar::kF64;
  std::string parameter;  ///< the type parameter `T` of the function, or `real(T)`, in place of `scalar`; else empty
  bool sparse = false;
  std::vector<Dimension> dimensions;
  SourceRange range;
};

/// `tile (512, 256)`.
struct TileAnnotation {
  std::vector<ExprPtr> sizes;
  SourceRange range;
};

/// `storage banded(n, b)` on a declaration: a use of a `storage` declaration.
struct StorageAnnotation {
  Identifier name;
  std::vector<ExprPtr> arguments;
  SourceRange range;
};

/// Annotations of a declared name: `: f64[n, m] storage banded(n, b) tile (512, 256)`, all optional.
struct Annotations {
  std::optional<TypeExpr> type;
  std::optional<StorageAnnotation> storage;
  std::optional<TileAnnotation> tile;
};

// --- Statements ----------------------------------------------------------------------------------------------------

/// The left side: `w`, or `Z[i, (j + 1) % n]`. `subscripts` is absent for a bare name.
struct Target {
  Identifier name;
  std::optional<std::vector<SubscriptItem>> subscripts;
  SourceRange range;
};

/// `where c`.
struct WhereSuffix {
  ExprPtr condition;
  SourceRange range;
};

/// `for i in 1..n-1, j in 0..m`.
struct ForSuffix {
  std::vector<IndexRange> ranges;
  SourceRange range;
};

/// Suffixes of an index statement, at most one of each; `for_first` records the written order.
struct Suffixes {
  std::optional<WhereSuffix> where;
  std::optional<ForSuffix> loop;
  bool for_first = false;
};

enum class AssignKind : std::uint8_t { kSet, kAdd, kSub, kMul, kDiv, kMin, kMax, kBitAnd, kBitOr, kBitXor, kMonoid };

/// `=`, `+=`, `min=`, `logaddexp=`. `monoid` is set for kMonoid only.
struct AssignOp {
  AssignKind kind = AssignKind::kSet;
  std::string monoid;
  SourceRange range;
};

/// `op= value where c for i in a..b`.
struct Definition {
  AssignOp op;
  ExprPtr value;  ///< a `Tuple` only in `TupleLet` and `TupleAssign`
  Suffixes suffixes;
};

/// Statements in braces.
struct Block {
  std::vector<StmtPtr> statements;
  SourceRange range;
};

/// `import std.linalg;` or `import "local.tdsl";`. `path` is `std.linalg` or the string; `is_file` distinguishes them.
struct Import {
  std::string path;
  bool is_file = false;
  SourceRange path_range;
};

/// `param lambda: f64 = 1e-3;`. `default_value` is null for a required option.
struct Param {
  Identifier name;
  TypeExpr type;
  ExprPtr default_value;
};

/// `input X: f64[n, d] tile (512, 64);`. The type is always set.
struct Input {
  Identifier name;
  Annotations annotations;
};

/// `output w;`, `output w = e;`, `output Z[i, j]: f64[n, m] = e where c every k;`.
struct Output {
  Target target;
  Annotations annotations;
  std::optional<Definition> definition;
  ExprPtr every;   ///< null: not written
  ExprPtr record;  ///< the number of the record; set where a series is lowered (lower/series.h)
};

/// `let A: f64[n, m] = e;`, `var H[bin[i]]: f64[16] += w[i];`.
struct Let {
  bool is_mutable = false;  ///< `var`
  Target target;
  Annotations annotations;
  Definition definition;
};

/// `let (lo, hi) = minmax(v);`, also `var`. The operator is always `=`.
struct TupleLet {
  bool is_mutable = false;
  std::vector<Identifier> names;
  std::vector<std::optional<TypeExpr>> types;  ///< one per name
  Definition definition;
};

/// `Z[t, i] += e;`, `A[2:5, :] = e;`, `x = e;`.
struct Assign {
  Target target;
  Definition definition;
};

/// `(a, b) = f(x);`. The operator is always `=`.
struct TupleAssign {
  std::vector<Identifier> names;
  Definition definition;
};

/// `for i in 0..n, k in 0..m by 2 { … }`.
struct For {
  std::vector<IndexRange> ranges;
  Block body;
};

/// `while c { … }`.
struct While {
  ExprPtr condition;
  Block body;
};

/// One `if c { … }` of an if-else-if chain.
struct IfArm {
  ExprPtr condition;
  Block body;
};

/// `if c { … } else if d { … } else { … }`: one arm per condition, at least one.
struct If {
  std::vector<IfArm> arms;
  std::optional<Block> else_body;
};

/// `print("loss", loss);`.
struct Print {
  std::vector<ExprPtr> items;
};

/// `assert(loss >= 0.0, "negative loss");`. `message` is absent if omitted.
struct Assert {
  ExprPtr condition;
  std::optional<std::string> message;
};

/// `return e;`, `return (min(v), max(v));` (then `value` is a `Tuple`), `return E[i, j] where i > j;`.
struct Return {
  ExprPtr value;
  Suffixes suffixes;
};

/// `fn(f64, T[...]) -> T[...]`: the type of a parameter that is a function.
struct FunctionType {
  std::vector<TypeExpr> parameters;
  std::vector<TypeExpr> results;
  SourceRange range;
};

/// `x` (a scalar: inlined), `X: f64[n, m]`, `h: f64 = 1.0`, `f: fn(f64) -> f64`, `levels: literal i64`.
struct FunctionParameter {
  Identifier name;
  std::optional<TypeExpr> type;
  std::optional<FunctionType> function = {};  ///< in place of `type`
  bool is_literal = false;                    ///< the argument is known at compile time
  ExprPtr default_value = nullptr;            ///< may be a `Lambda`; null if the argument is required
};

/// `T` or `T: float` in `fn axpy[T: float](…)`.
struct TypeParameter {
  Identifier name;
  std::optional<Identifier> bound;
};

/// `fn f(x) = e;` (body is an expression) or `fn f(X: f64[n]) -> f64 { … }`. `results` is empty if omitted; two or more
/// form a tuple. The name of a lambda is `fn`.
struct Function {
  Identifier name;
  std::vector<FunctionParameter> parameters;
  std::vector<TypeExpr> results;
  std::variant<ExprPtr, Block> body;
  std::vector<TypeParameter> type_parameters = {};
};

/// `monoid m(a: f64, b: f64) { identity = e; combine = e; }`. Both expressions are set.
struct Monoid {
  Identifier name;
  std::vector<FunctionParameter> parameters;
  ExprPtr identity;
  ExprPtr combine;
};

/// `fn gelu(x: f64) -> f64;` inside `extern`: applied per element.
struct ExternFunction {
  Identifier name;
  std::vector<FunctionParameter> parameters;
  std::vector<TypeExpr> results;
  SourceRange range;
};

/// `A: in f64[b, b]`, `L: out f64[b, b]`.
struct KernelParameter {
  Identifier name;
  bool is_output = false;
  TypeExpr type;
};

/// `kernel lu_block(A: in f64[b, b], L: out f64[b, b]);` inside `extern`: applied per tile.
struct ExternKernel {
  Identifier name;
  std::vector<KernelParameter> parameters;
  SourceRange range;
};

/// `extern "kernels.hpp" { … }`.
struct Extern {
  std::string header;
  SourceRange header_range;
  std::vector<std::variant<ExternFunction, ExternKernel>> items;
};

/// `to[i, j] = (i - j + b, j) where abs(i - j) <= b;`: maps element `indices` of one tensor to element `results` of the
/// other.
struct IndexMap {
  std::vector<Identifier> indices;
  std::vector<ExprPtr> results;
  ExprPtr guard;  ///< null if omitted
  SourceRange range;
};

/// A user-defined storage: maps logical elements to a stored tensor and back. Elements outside the guard are 0.
///
///     storage banded(n, b) {
///       stored[2 * b + 1, n];
///       to[i, j] = (i - j + b, j) where abs(i - j) <= b;
///       from[d, j] = (d + j - b, j) where 0 <= d + j - b && d + j - b < n;
///     }
struct Storage {
  Identifier name;
  std::vector<Identifier> parameters;
  std::vector<ExprPtr> extents;  ///< of the stored tensor
  IndexMap to;                   ///< logical to stored
  IndexMap from;                 ///< stored to logical
};

/// `break;` or `continue;` of the innermost loop.
struct Leave {
  bool ends_loop = false;  ///< `break`
};

using StmtNode = std::variant<Import, Param, Input, Output, Let, TupleLet, Assign, TupleAssign, For, While, If, Print,
                              Assert, Return, Leave, Function, Monoid, Extern, Storage>;

/// A statement or declaration. The parser guarantees that `Import`, `Param`, `Input`, `Function`, `Monoid`,
/// `Extern` and `Storage` occur at top level only, and `Return` only in function bodies (its position there is
/// unchecked).
struct Stmt {
  SourceRange range;
  StmtNode node;
  std::uint32_t depth = 1;
};

/// `// text` or `/* text */`, delimiters included in `text`.
struct Comment {
  SourceRange range;
  std::string text;
};

/// One source file: its statements and its comments, both in source order.
struct Module {
  std::uint32_t file = 0;
  std::vector<StmtPtr> statements;
  std::vector<Comment> comments;
};

}  // namespace tdsl::frontend::ast
