#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/differentiate/activity.h"
#include "ir/differentiate/adjoints.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

/// Writes the adjoints of routines as matrices by elements. Labels 0 and 1 are the row and column of the result, label
/// 2 is summed over; for batches of matrices they follow the batch's labels, which elements have without saying so.
class RoutineAdjointWriter {
 public:
  RoutineAdjointWriter(const Node& node, const Routine& routine, const Activity& activity, NodeWriter& writer,
                       Adjoints& adjoints)
      : node_(node), routine_(routine), activity_(activity), writer_(writer), adjoints_(adjoints) {
    if (is_line(routine.kind) || routine.kind == Routine::Kind::kForeign) return;
    const std::vector<Extent>& shape = writer.program().type(node.results[0]).shape;
    const auto rank = static_cast<std::ptrdiff_t>(writer.program().type(routine.operands[0]).rank()) - 2;
    batch_.assign(shape.begin(), shape.begin() + rank);
  }

 protected:
  [[nodiscard]] Expr label(std::int32_t number) const {
    return index_ref(static_cast<std::int32_t>(batch_.size()) + number);
  }

  [[nodiscard]] Type type_of(ValueId v) const {
    Type type = writer_.program().type(v);
    type.format = {};
    return type;
  }
  /// The type with the whole batch, for an operand whose extent of 1 serves all matrices.
  [[nodiscard]] Type batched_type_of(ValueId v) const {
    Type type = type_of(v);
    std::copy(batch_.begin(), batch_.end(), type.shape.begin());
    return type;
  }
  [[nodiscard]] Type matrix_type(const Extent& rows, const Extent& columns) const {
    Type type{type_of(routine_.operands[0]).scalar, batch_, {}};
    type.shape.push_back(rows);
    type.shape.push_back(columns);
    return type;
  }
  [[nodiscard]] Extent rows(ValueId v) const { return type_of(v).shape[batch_.size()]; }
  [[nodiscard]] Extent columns(ValueId v) const { return type_of(v).shape[batch_.size() + 1]; }
  [[nodiscard]] bool is_vector(ValueId v) const { return type_of(v).rank() == batch_.size() + 1; }

  /// The element of the batch's matrix, if subscripts are left out.
  [[nodiscard]] Expr at(ValueId v, const std::vector<Expr>& subscripts) const {
    const Type& type = writer_.program().type(v);
    std::vector<Expr> all;
    for (std::size_t d = 0; d + subscripts.size() < type.rank(); ++d)
      all.push_back(stretches(type, d) ? constant_i64(0) : index_ref(static_cast<std::int32_t>(d)));
    all.insert(all.end(), subscripts.begin(), subscripts.end());
    return read(type.scalar, v, std::move(all));
  }
  [[nodiscard]] Expr at(ValueId v, std::int32_t row, std::int32_t column) const {
    return at(v, {label(row), label(column)});
  }

  ValueId routine(Routine::Kind kind, std::vector<ValueId> operands, const Type& type, std::int64_t axis = 0) {
    return emit_routine({kind, std::move(operands), axis}, type);
  }
  /// The x with matrix x = right.
  ValueId solution(ValueId matrix, ValueId right, const Type& type,
                   Routine::SolveKind kind = Routine::SolveKind::kGeneral) {
    return emit_routine({Routine::Kind::kSolve, {matrix, right}, 0, nullptr, kind}, type);
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
    std::swap(type.shape[batch_.size()], type.shape[batch_.size() + 1]);
    return tensor(type, at(matrix, 1, 0));
  }

  /// Adds `body`, an element of v's adjoint for each matrix of the batch.
  void contribute(ValueId v, const Expr& body) {
    const Type type = type_of(v);
    Compute c;
    c.out = plain_labels(type.shape);
    c.bodies = {body};
    const auto shared = [&](std::size_t d) { return d < batch_.size() && stretches(type, d); };
    bool serves_all = false;
    for (std::size_t d = 0; d < type.rank(); ++d) serves_all = serves_all || shared(d);
    if (serves_all) {
      const ValueId each = tensor(batched_type_of(v), body);
      std::vector<Expr> subscripts = plain_subscripts(type.rank());
      for (std::size_t d = 0; d < batch_.size(); ++d) {
        if (!shared(d)) continue;
        subscripts[d] = index_ref(static_cast<std::int32_t>(type.rank() + c.reduce.size()));
        c.reduce.push_back({"q" + std::to_string(d), Extent(), batch_[d]});
      }
      c.bodies = {read(type.scalar, each, std::move(subscripts))};
      c.monoid = Monoid{Monoid::Kind::kSum, {}, {}, {}};
    }
    adjoints_.add(v, std::move(c), false, node_.range);
  }
  void contribute(ValueId v, ValueId each) { contribute(v, at(each, plain_subscripts(type_of(v).rank()))); }

  /// `body` below the diagonal, half of it on the diagonal, 0 above: the derivative with respect to a symmetric matrix
  /// of which only the lower triangle is read, given the sum of both halves.
  [[nodiscard]] Expr lower_half(const Expr& body) const {
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
  std::vector<Extent> batch_;  ///< leading extents of the results of a matrix routine

 private:
  ValueId emit_routine(Routine r, const Type& type) {
    const ValueId v = writer_.program().new_value(type, "adjoint", node_.range);
    writer_.emit(Node{node_.range, {v}, std::move(r)});
    return v;
  }

  /// True if the only element of a batch dimension serves all matrices.
  [[nodiscard]] bool stretches(const Type& type, std::size_t d) const {
    return d < batch_.size() && type.shape[d].constant() == 1 && batch_[d].constant() != 1;
  }
};

}  // namespace tdsl::ir
