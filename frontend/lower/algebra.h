#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontend/lower/state/shapes.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// The reductions that names refer to.
enum class Reducer : std::uint8_t {
  kSum,
  kProd,
  kMin,
  kMax,
  kMean,
  kAny,
  kAll,
  kCount,
  kArgMin,
  kArgMax,
  kNorm,
  kUser
};
struct ReducerName {
  Reducer kind = Reducer::kSum;
  ir::Monoid user;  ///< kUser only
  ir::Scalar user_type = ir::Scalar::kF64;
};

/// A result of a library routine.
struct RoutineResult {
  ir::Scalar scalar = ir::Scalar::kF64;
  std::vector<Dim> shape;
};

/// Reports that `what` is not defined if the type is complex.
void require_ordered(Reports& reports, const std::string& what, ir::Scalar type, const ir::SourceRange& range);
/// The square of the absolute value.
[[nodiscard]] ir::Expr squared_abs(const ir::Expr& e, const ir::SourceRange& range);

/// Operations on whole tensor expressions.
class Algebra {
 public:
  Algebra(Reports& reports, GraphBuilder& graph, Guards& guards, Values& values, Shapes& shapes)
      : reports_(reports), graph_(graph), guards_(guards), values_(values), shapes_(shapes) {}

  Tensor elementwise(const std::vector<Tensor>& args, Weak weak, const ir::SourceRange& range,
                     const std::function<ir::Expr(const std::vector<ir::Expr>&)>& make, const std::string& hint = "");
  Tensor arithmetic(ir::BinaryOp op, const Tensor& left, const Tensor& right, const ir::SourceRange& range);
  Tensor power(const Tensor& base, const Tensor& b, const ir::SourceRange& range);
  Tensor choice(const Tensor& c, const Tensor& a, const Tensor& b, const ir::SourceRange& range);
  Tensor apply_unary(ir::UnaryOp op, const Tensor& operand, const ir::SourceRange& range);
  /// The complex numbers with these parts.
  Tensor complex_number(const Tensor& re, const Tensor& im, const ir::SourceRange& range);
  /// atan2, hypot, copysign: integers become `f64`.
  Tensor float_function(ir::BinaryOp op, const Tensor& left, const Tensor& right, const ir::SourceRange& range);
  /// The last two dimensions exchanged; vectors and scalars as they are.
  Tensor swapped(const Tensor& t);
  Tensor transpose(const Tensor& t, const ir::SourceRange& range);
  Tensor matmul(const Tensor& a, const Tensor& b, const ir::SourceRange& range);
  Tensor reduce(const ReducerName& op, ComputeSpec spec, const Tensor& elements, std::vector<Dim> shape);
  Tensor flat_arg(const ReducerName& op, const Tensor& t, const ir::SourceRange& range);
  Tensor filled(const ir::Expr& value, Weak weak, std::vector<Dim> shape);
  /// `b` behind `a` along dimension `axis`; ranks agree.
  Tensor joined(const Tensor& a, const Tensor& b, std::size_t axis, const ir::SourceRange& range);
  Tensor fresh(const Tensor& t);
  /// All elements in one dimension.
  Tensor flattened(const Tensor& t, const ir::SourceRange& range);
  /// The row-major index of the element at the tensor's own labels.
  [[nodiscard]] ir::Expr row_major(const Tensor& t) const;
  /// The same within `count` dimensions from `first` on.
  [[nodiscard]] ir::Expr row_major(const Tensor& t, std::size_t first, std::size_t count) const;
  /// The subscripts of the element at row-major index `flat`.
  [[nodiscard]] std::vector<ir::Expr> split(ir::Expr flat, const std::vector<Dim>& shape,
                                            const ir::SourceRange& range) const;
  ir::ValueId routine_operand(const Tensor& t, ir::Scalar type, const ast::Call& call);
  std::vector<Tensor> emit_routine(ir::Routine routine, const std::vector<RoutineResult>& results,
                                   const ir::SourceRange& range);

 private:
  /// Marks diagonals `sparse` in a term of a sum or difference of which the other term carries absence.
  void meet(ir::Expr& a, ir::Expr& b) const;
  /// The product with a diagonal matrix, as a product element by element; nothing if neither operand is one.
  std::optional<Tensor> scaling(const Tensor& a, const Tensor& b, const ir::SourceRange& range);
  /// Reports an operand of a bit operator that has no bits.
  void require_bits(ir::BinaryOp op, const Tensor& t, const ir::SourceRange& range);
  /// `~x` and `popcount(x)`.
  Tensor of_bits(ir::UnaryOp op, const Tensor& t, const ir::SourceRange& range);
  /// real, imag, conj or arg of a tensor that is not complex.
  Tensor real_part(ir::UnaryOp op, const Tensor& t, const ir::SourceRange& range);
  Tensor reduce_mean(ComputeSpec spec, const Tensor& body, std::vector<Dim> shape);
  void emit_guarded_routine(ir::Routine routine, const std::vector<ir::ValueId>& results, const ir::Expr& guard,
                            const ir::SourceRange& range);

  Reports& reports_;
  GraphBuilder& graph_;
  Guards& guards_;
  Values& values_;
  Shapes& shapes_;
};

}  // namespace tdsl::frontend
