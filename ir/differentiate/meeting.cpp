#include "ir/differentiate/compute.h"

#include <utility>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

class Meeting {
 public:
  Meeting(const Compute& compute, Type type, std::string name, SourceRange range, NodeWriter& writer)
      : compute_(compute), type_(std::move(type)), name_(std::move(name)), range_(range), writer_(writer) {
    type_.format = {};
    store_values();
  }

  MeetingSlopes slopes() { return compute_.combine->kind == Monoid::Kind::kProd ? of_product() : of_extremum(); }

 private:
  /// Stores the values once: two evaluations of an expression may differ in the last bit, and optima are identified by
  /// equality.
  void store_values() {
    Compute c;
    c.out = compute_.out;
    c.bodies = compute_.bodies;
    c.guard = compute_.guard;
    Type points{type_.scalar, {}, {}};
    std::vector<Expr> subscripts;
    for (std::size_t l = 0; l < c.out.size(); ++l) {
      points.shape.push_back(c.out[l].end - c.out[l].begin);
      subscripts.push_back(index_difference(index_ref(static_cast<std::int32_t>(l)), expr_of(c.out[l].begin)));
    }
    value_ = read(type_.scalar, writer_.emit(std::move(c), points, name_ + "_values", range_), std::move(subscripts));
    before_ = compute_.base   ? element_of(*compute_.base, type_.scalar)
              : compute_.fill ? compute_.fill
                              : identity_of(*compute_.combine, type_.scalar);
  }

  [[nodiscard]] Expr element_of(ValueId tensor, Scalar s) const {
    return read(s, tensor, plain_subscripts(type_.shape.size()));
  }
  [[nodiscard]] Expr met(ValueId tensor, Scalar s) const { return read(s, tensor, compute_.left); }

  /// The tensor initialised to `start`, with the points' contributions combined into it.
  ValueId combined(Monoid::Kind kind, Scalar scalar, const Expr& start, const Expr& brought,
                   const std::string& suffix) {
    Type type = type_;
    type.scalar = scalar;
    const ValueId base = writer_.filled(type, start, name_ + "_" + suffix, range_);
    Compute c;
    c.out = compute_.out;
    c.left = compute_.left;
    c.guard = compute_.guard;
    c.bodies = {brought};
    c.base = base;
    c.combine = Monoid{kind, {}, {}, {}};
    return writer_.emit(std::move(c), type, name_ + "_" + suffix, range_);
  }

  MeetingSlopes of_extremum() {
    const Scalar s = type_.scalar;
    const ValueId best = combined(compute_.combine->kind, s, before_, value_, "best");
    const auto is_best = [&](const Expr& value, const Expr& there) { return binary(BinaryOp::kEq, value, there); };
    const Expr point_is = is_best(value_, met(best, s));
    const Expr element_is = is_best(before_, element_of(best, s));
    const ValueId optima = combined(Monoid::Kind::kSum, s, cast(s, element_is), cast(s, point_is), "optima");
    const Expr one = float_constant(s, 1.0);
    return {where(point_is, quotient_of(one, met(optima, s))),
            where(element_is, quotient_of(one, element_of(optima, s)))};
  }

  /// The product of the other factors, which is not the product / factor if a factor is 0.
  MeetingSlopes of_product() {
    const Scalar s = type_.scalar;
    const auto is_zero = [&](const Expr& factor) { return binary(BinaryOp::kEq, factor, float_constant(s, 0.0)); };
    const auto if_not_zero = [&](const Expr& factor) {
      return select(is_zero(factor), float_constant(s, 1.0), factor);
    };
    const auto one_if_zero = [&](const Expr& factor) { return cast(Scalar::kI64, is_zero(factor)); };
    const ValueId zeros =
        combined(Monoid::Kind::kSum, Scalar::kI64, one_if_zero(before_), one_if_zero(value_), "zeros");
    const ValueId product = combined(Monoid::Kind::kProd, s, if_not_zero(before_), if_not_zero(value_), "nonzero");
    const auto others = [&](const Expr& factor, const Expr& zeros_there, const Expr& product_there) {
      const Expr plain = where(binary(BinaryOp::kEq, zeros_there, constant_i64(0)), quotient_of(product_there, factor));
      const Expr only = where(binary(BinaryOp::kEq, zeros_there, constant_i64(1)), product_there);
      return select(is_zero(factor), only, plain);
    };
    return {others(value_, met(zeros, Scalar::kI64), met(product, s)),
            others(before_, element_of(zeros, Scalar::kI64), element_of(product, s))};
  }

  const Compute& compute_;
  Type type_;
  std::string name_;
  SourceRange range_;
  NodeWriter& writer_;
  Expr value_;   ///< of a point, as stored
  Expr before_;  ///< of an element
};

}  // namespace

MeetingSlopes meeting_slopes(const Compute& compute, const Type& type, const std::string& name,
                             const SourceRange& range, NodeWriter& writer) {
  return Meeting(compute, type, name, range, writer).slopes();
}

}  // namespace tdsl::ir
