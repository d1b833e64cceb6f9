#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"

namespace tdsl::frontend {

/// How far the element type of an expression is still open: a literal takes the type it meets.
enum class Weak : std::uint8_t {
  kNo,
  kInteger,  ///< `2 * 3`: any number type, i64 if nothing is met
  kFloat,    ///< `1.0`: any float type, f64 if nothing is met
  kAny,      ///< `zeros(n)`: any type, f64 if nothing is met; the values 0 and 1 and what is made of them
};

/// One dimension of a tensor expression and, for messages, where its size comes from.
struct Dim {
  ir::Extent extent;
  std::string what;       ///< "the number of columns of X"
  ir::SourceRange range;  ///< of what has this size: X's declaration
};

struct StoredWhole;  // sema_storage.h

/// A tensor-valued expression that is not computed yet: element [l0, l1, …] is `body`, a scalar expression over the
/// labels. Operations on whole tensors only compose bodies; `Values::materialise` makes a node of the result.
/// Labels are numbered over the whole compilation; `body` may mention further ones, the index variables in scope.
struct Tensor {
  std::vector<std::int32_t> labels;
  std::vector<Dim> shape;  ///< one per label
  ir::Expr body;
  Weak weak = Weak::kNo;
  bool padded = false;  ///< made by pad(): may be subscripted beyond its extents, and only subscripted
  std::shared_ptr<const StoredWhole> stored =
      {};  ///< of a name with a storage; ask stored_whole() whether the tensor still is that
  ir::SourceRange range;

  [[nodiscard]] std::size_t rank() const { return labels.size(); }
  [[nodiscard]] ir::Scalar scalar() const { return body->type; }
};

/// A rank-0 expression.
[[nodiscard]] Tensor scalar_tensor(ir::Expr body, Weak weak = Weak::kNo);

/// Replaces labels; others stay.
using LabelMap = std::map<std::int32_t, ir::Expr>;
[[nodiscard]] ir::Expr substitute(const ir::Expr& e, const LabelMap& labels);
/// The element at `subscripts`, one per dimension.
[[nodiscard]] ir::Expr element(const Tensor& t, const std::vector<ir::Expr>& subscripts);
/// How many operations the expression has, counting shared ones as often as they are used; `most` if they are more.
[[nodiscard]] std::size_t operations_of(const ir::Expr& e, std::size_t most);
/// The labels `e` mentions, in order of first mention.
[[nodiscard]] std::vector<std::int32_t> labels_of(const ir::Expr& e);
/// Calls `f` on the parts that are evaluated for every point, children first: not those behind a branch or a short
/// circuit. A check of a subscript is no branch: the run stops there.
void for_each_certain_node(const ir::Expr& e, const std::function<void(const ir::Expr&)>& f);
/// The same of reads.
void for_each_certain_read(const ir::Expr& e, const std::function<void(const ir::ExprNode&, const ir::Read&)>& f);
/// The value when `t` is exactly all of a stored tensor (or a scalar value), subscripts in order.
[[nodiscard]] std::optional<ir::ValueId> whole_value(const Tensor& t);
/// The constant when `e` is one.
[[nodiscard]] const ir::Literal* literal_of(const ir::Expr& e);
[[nodiscard]] std::optional<std::int64_t> integer_constant(const ir::Expr& e);

// Arithmetic on i64 expressions, folded.
[[nodiscard]] ir::Expr add(const ir::Expr& a, const ir::Expr& b);
[[nodiscard]] ir::Expr sub(const ir::Expr& a, const ir::Expr& b);
[[nodiscard]] ir::Expr mul(const ir::Expr& a, const ir::Expr& b);
/// `a && b`; a null operand counts as true.
[[nodiscard]] ir::Expr both(const ir::Expr& a, const ir::Expr& b);
/// An extent as an i64 expression.
[[nodiscard]] ir::Expr expr_of(const ir::Program& program, const ir::Extent& e);

using Affine = ir::AffineExpr;
using ir::ValueExtent;
/// The expression as an extent; nothing when it mentions labels or is not a polynomial with quotients and remainders.
[[nodiscard]] std::optional<ir::Extent> extent_of(const ir::Expr& e, const ValueExtent& value_extent);

}  // namespace tdsl::frontend
