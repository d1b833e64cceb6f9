#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"

namespace tdsl::frontend {

using ir::BinaryOp;
using ir::Expr;
using ir::Extent;
using ir::Scalar;
using ir::UnaryOp;
using ir::ValueId;

/// Openness of an element type: literals adapt to the type of the other operand.
enum class Weak : std::uint8_t {
  kNo,
  kInteger,  ///< `2 * 3`: any numeric type, i64 by default; u64 from 2^63 on
  kFloat,    ///< `1.0`: any float type, f64 by default
  kComplex,  ///< `2i`: any complex type, c128 by default
  kAny,      ///< `zeros(n)`: any type, f64 by default; values 0 and 1 and expressions of them
};

/// One dimension of a tensor expression and, for messages, the origin of its size.
struct Dim {
  ir::Extent extent;
  std::string what;       ///< "the number of columns of X"
  ir::SourceRange range;  ///< declaration that determines the size, such as X's
};

struct StoredWhole;  // sema_storage.h

/// A lazy tensor expression: element [l0, l1, …] is `body`, a scalar expression over the labels. Operations on whole
/// tensors only compose bodies; `Values::materialise` makes a node of the result. Label numbers are unique in the
/// compilation; `body` may mention other labels, the index variables in scope.
struct Tensor {
  std::vector<std::int32_t> labels;
  std::vector<Dim> shape;  ///< one per label
  ir::Expr body;
  Weak weak = Weak::kNo;
  bool padded = false;  ///< result of pad(): may be subscripted beyond its extents, and only subscripted
  std::shared_ptr<const StoredWhole> stored =
      {};  ///< of a name with a storage; stored_whole() checks that the tensor still is that name
  ir::SourceRange range;

  [[nodiscard]] std::size_t rank() const { return labels.size(); }
  [[nodiscard]] ir::Scalar scalar() const { return body->type; }
};

/// A rank-0 expression.
[[nodiscard]] Tensor scalar_tensor(ir::Expr body, Weak weak = Weak::kNo);

/// A substitution of labels; other labels are unchanged.
using LabelMap = std::map<std::int32_t, ir::Expr>;
[[nodiscard]] ir::Expr substitute(const ir::Expr& e, const LabelMap& labels);
/// The element at `subscripts`, one per dimension.
[[nodiscard]] ir::Expr element(const Tensor& t, const std::vector<ir::Expr>& subscripts);
/// Number of operations in the expression, with shared ones counted per use; at most `most`.
[[nodiscard]] std::size_t operations_of(const ir::Expr& e, std::size_t most);
/// The labels `e` mentions, in order of first mention.
[[nodiscard]] std::vector<std::int32_t> labels_of(const ir::Expr& e);
/// Calls `f` on the subexpressions evaluated at every point, children first: not on branches or the right operand of a
/// short circuit. A subscript check is not a branch: its failure stops the run.
void for_each_certain_node(const ir::Expr& e, const std::function<void(const ir::Expr&)>& f);
/// The same for reads.
void for_each_certain_read(const ir::Expr& e, const std::function<void(const ir::ExprNode&, const ir::Read&)>& f);
/// The value if `t` is exactly a whole stored tensor (or a scalar value), with subscripts in order.
[[nodiscard]] std::optional<ir::ValueId> whole_value(const Tensor& t);
/// The constant if `e` is one, else null.
[[nodiscard]] const ir::Literal* literal_of(const ir::Expr& e);
[[nodiscard]] std::optional<std::int64_t> integer_constant(const ir::Expr& e);

// Arithmetic on i64 expressions, with folding.
[[nodiscard]] ir::Expr add(const ir::Expr& a, const ir::Expr& b);
[[nodiscard]] ir::Expr sub(const ir::Expr& a, const ir::Expr& b);
[[nodiscard]] ir::Expr mul(const ir::Expr& a, const ir::Expr& b);
/// `a && b`; a null operand is true.
[[nodiscard]] ir::Expr both(const ir::Expr& a, const ir::Expr& b);
/// An extent as an i64 expression.
[[nodiscard]] ir::Expr expr_of(const ir::Program& program, const ir::Extent& e);

using Affine = ir::AffineExpr;
using ir::ValueExtent;
/// The expression as an extent; nullopt if it mentions labels or is not a polynomial with quotients and remainders.
[[nodiscard]] std::optional<ir::Extent> extent_of(const ir::Expr& e, const ValueExtent& value_extent);

}  // namespace tdsl::frontend
