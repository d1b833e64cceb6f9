#pragma once

#include <utility>
#include <vector>

#include "ir/differentiate/activity.h"
#include "ir/differentiate/adjoints.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

/// Writes the adjoints of routines as matrices by elements. Labels 0 and 1 are the row and column of the result, label
/// 2 is summed over.
class RoutineAdjointWriter {
 public:
  RoutineAdjointWriter(const Node& node, const Routine& routine, const Activity& activity, NodeWriter& writer,
                       Adjoints& adjoints)
      : node_(node), routine_(routine), activity_(activity), writer_(writer), adjoints_(adjoints) {}

 protected:
  static Expr label(std::int32_t number) { return index_ref(number); }

  [[nodiscard]] Type type_of(ValueId v) const {
    Type type = writer_.program().type(v);
    type.format = {};
    return type;
  }
  [[nodiscard]] Type matrix_type(const Extent& rows, const Extent& columns) const {
    return {type_of(routine_.operands[0]).scalar, {rows, columns}, {}};
  }
  [[nodiscard]] Expr at(ValueId v, std::vector<Expr> subscripts) const {
    return read(writer_.program().type(v).scalar, v, std::move(subscripts));
  }
  [[nodiscard]] Expr at(ValueId v, std::int32_t row, std::int32_t column) const {
    return at(v, {label(row), label(column)});
  }

  ValueId routine(Routine::Kind kind, std::vector<ValueId> operands, const Type& type, std::int64_t axis = 0) {
    const ValueId v = writer_.program().new_value(type, "adjoint", node_.range);
    writer_.emit(Node{node_.range, {v}, Routine{kind, std::move(operands), axis}});
    return v;
  }

  /// A Fourier transform with the routine's axis and factor.
  ValueId fourier(Routine::Kind kind, ValueId operand, const Type& type) {
    const ValueId v = writer_.program().new_value(type, "adjoint", node_.range);
    Routine made{kind, {operand}, routine_.axis};
    made.scale = routine_.scale;
    writer_.emit(Node{node_.range, {v}, std::move(made)});
    return v;
  }

  ValueId tensor(const Type& type, const Expr& body) { return writer_.filled(type, body, "adjoint", node_.range); }

  /// Sums of `body` over label 2 in 0..inner.
  ValueId product(const Type& type, const Extent& inner, const Expr& body) {
    Compute c;
    c.out = plain_labels(type.shape);
    c.reduce = {{"q", Extent(), inner}};
    c.bodies = {body};
    c.monoid = Monoid{Monoid::Kind::kSum, {}, {}, {}};
    return writer_.emit(std::move(c), type, "adjoint", node_.range);
  }

  ValueId transposed(ValueId matrix) {
    Type type = type_of(matrix);
    std::swap(type.shape[0], type.shape[1]);
    return tensor(type, at(matrix, 1, 0));
  }

  void contribute(ValueId v, const Expr& body) {
    Compute c;
    c.out = plain_labels(type_of(v).shape);
    c.bodies = {body};
    adjoints_.add(v, std::move(c), false, node_.range);
  }

  /// `body` below the diagonal, half of it on the diagonal, 0 above: the derivative with respect to a symmetric matrix
  /// of which only the lower triangle is read, given the sum of both halves.
  [[nodiscard]] static Expr lower_half(const Expr& body) {
    const Expr zero = float_constant(body->type, 0.0);
    const Expr half = product_of(float_constant(body->type, 0.5), body);
    return select(binary(BinaryOp::kGt, label(0), label(1)), body,
                  select(binary(BinaryOp::kEq, label(0), label(1)), half, zero));
  }

  const Node& node_;
  const Routine& routine_;
  const Activity& activity_;
  NodeWriter& writer_;
  Adjoints& adjoints_;
};

}  // namespace tdsl::ir
