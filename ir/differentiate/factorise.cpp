#include "ir/differentiate/routine.h"

#include <optional>

#include "ir/differentiate/compute.h"
#include "ir/differentiate/routine_writer.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"

namespace tdsl::ir {

namespace {

class FactorisationAdjoint : RoutineAdjointWriter {
 public:
  using RoutineAdjointWriter::RoutineAdjointWriter;

  void run() {
    switch (routine_.kind) {
      case Routine::Kind::kLu: return lu();
      case Routine::Kind::kQr: return qr();
      case Routine::Kind::kEigh: return eigh();
      case Routine::Kind::kSvd: return svd();
      case Routine::Kind::kLstsq: return least_squares();
      default: TDSL_CHECK(false, "a factorisation with derivatives");
    }
  }

 private:
  [[nodiscard]] ValueId operand() const { return routine_.operands[0]; }
  [[nodiscard]] Expr zero() const { return float_constant(type_of(operand()).scalar, 0.0); }
  [[nodiscard]] Expr one() const { return float_constant(type_of(operand()).scalar, 1.0); }
  [[nodiscard]] Expr diagonal() const { return binary(BinaryOp::kEq, label(0), label(1)); }
  [[nodiscard]] static Expr difference(const Expr& a, const Expr& b) { return sum_of(a, negation_of(b)); }

  [[nodiscard]] bool is_complex_matrix() const { return is_complex(type_of(operand()).scalar); }
  /// Vectors of complex matrices have a phase that depends on the matrix, too.
  void require_values_alone(bool vectors) const {
    if (is_complex_matrix() && vectors)
      throw NotDifferentiable{
          node_.range,
          "the vectors of `" + std::string(name_of(routine_.kind)) + "` of a complex matrix cannot be differentiated",
          {}};
  }

  /// The product of matrices X and Y, each optionally its conjugate transpose.
  ValueId times(ValueId x, bool x_turned, ValueId y, bool y_turned) {
    const Type type = matrix_type(x_turned ? columns(x) : rows(x), y_turned ? rows(y) : columns(y));
    const Expr left = x_turned ? conjugated(at(x, 2, 0)) : at(x, 0, 2);
    const Expr right = y_turned ? conjugated(at(y, 1, 2)) : at(y, 2, 1);
    return product(type, x_turned ? rows(x) : columns(x), product_of(left, right));
  }

  /// The rule is for matrices with `columns relation rows`: checked now as far as known, otherwise at run time.
  void require(Check::Relation relation, const std::string& otherwise) {
    const Extent m = rows(operand());
    const Extent n = columns(operand());
    const auto height = m.constant();
    const auto width = n.constant();
    const bool equal = relation == Check::Relation::kEqual;
    if (height && width && (equal ? *height != *width : *width > *height))
      throw NotDifferentiable{node_.range, otherwise + " cannot be differentiated", {}};
    if ((height && width) || m == n) return;
    const std::string sizes = "the matrix has {left} columns and {right} rows: ";
    writer_.emit(
        Node{node_.range, {}, Check{relation, n, m, sizes + "grad through " + otherwise + " is not supported", {}}});
  }

  void lu() {
    if (is_complex_matrix())
      throw NotDifferentiable{node_.range, "`lu` of a complex matrix cannot be differentiated", {}};
    require(Check::Relation::kEqual, "lu of a matrix that is not square");
    const ValueId a = operand();
    const ValueId order = node_.results[0];
    const ValueId l = node_.results[1];
    const ValueId u = node_.results[2];
    const Extent n = columns(l);
    const Type square = matrix_type(n, n);
    const ValueId below = times(l, true, adjoints_.tensor(l), false);
    const ValueId above = times(adjoints_.tensor(u), false, u, true);
    const Expr strictly_below = binary(BinaryOp::kGt, label(0), label(1));
    const ValueId middle = tensor(square, select(strictly_below, at(below, 0, 1), at(above, 0, 1)));
    const ValueId left = solution(tensor(square, at(l, 1, 0)), middle, square);
    const ValueId turned = solution(tensor(square, at(u, 0, 1)), transposed(left), square);
    Compute c;
    c.out = plain_labels(square.shape);
    c.left = plain_subscripts(square.rank());
    c.left[batch_.size()] = at(order, {label(0)});
    c.bodies = {at(turned, 1, 0)};
    adjoints_.add(a, std::move(c), false, node_.range);
  }

  void qr() {
    require(Check::Relation::kAtMost, "qr of a matrix with fewer rows than columns");
    const ValueId a = operand();
    const Extent m = rows(a);
    const ValueId q = node_.results[0];
    const ValueId r = node_.results[1];
    const ValueId of_q = adjoints_.tensor(q);
    const Extent k = columns(q);
    const Expr upper = select(binary(BinaryOp::kLe, label(0), label(1)), at(adjoints_.tensor(r), 0, 1), zero());
    const ValueId of_r = tensor(type_of(r), upper);
    const ValueId first = times(r, false, of_r, true);
    const ValueId second = times(of_q, true, q, false);
    const ValueId both = tensor(matrix_type(k, k), difference(at(first, 0, 1), at(second, 0, 1)));
    const Expr symmetric = select(binary(BinaryOp::kGe, label(0), label(1)), at(both, 0, 1), at(both, 1, 0));
    const ValueId moved = times(q, false, tensor(matrix_type(k, k), symmetric), false);
    // (dQ + Q S) inv(R)' = (inv(R) (dQ + Q S)')'; R is square if the run passes the check.
    const ValueId right = tensor(matrix_type(k, m), sum_of(at(of_q, 1, 0), at(moved, 1, 0)));
    const ValueId square = tensor(matrix_type(k, k), at(r, 0, 1));
    const ValueId turned = solution(square, right, matrix_type(k, m));
    contribute(a, at(turned, 1, 0));
  }

  void eigh() {
    const ValueId a = operand();
    const ValueId w = node_.results[0];
    const ValueId v = node_.results[1];
    require_values_alone(adjoints_.has(v));
    const Type type = type_of(v);
    Expr inner = select(diagonal(), at(adjoints_.tensor(w), {label(0)}), zero());
    if (adjoints_.has(v)) {
      const ValueId turned = times(v, true, adjoints_.tensor(v), false);
      const Expr gap = difference(at(w, {label(1)}), at(w, {label(0)}));
      inner = select(diagonal(), at(adjoints_.tensor(w), {label(0)}), quotient_of(at(turned, 0, 1), gap));
    }
    const ValueId x = times(times(v, false, tensor(type, inner), false), false, v, true);
    contribute(a, lower_half(sum_of(at(x, 0, 1), conjugated(at(x, 1, 0)))));
  }

  /// X' Y - Y' X divided by the gaps of the squares of s, where X has orthonormal columns: the rotation of singular
  /// vectors.
  ValueId turning(ValueId inner, ValueId s) {
    const auto squared = [&](std::int32_t l) { return product_of(at(s, {label(l)}), at(s, {label(l)})); };
    const Expr skew = difference(at(inner, 0, 1), at(inner, 1, 0));
    return tensor(type_of(inner), select(diagonal(), zero(), quotient_of(skew, difference(squared(1), squared(0)))));
  }

  void svd() {
    const ValueId a = operand();
    const ValueId u = node_.results[0];
    const ValueId s = node_.results[1];
    const ValueId vt = node_.results[2];
    require_values_alone(adjoints_.has(u) || adjoints_.has(vt));
    const Extent k = rows(s);
    const Type square = matrix_type(k, k);
    Expr inner = select(diagonal(), at(adjoints_.tensor(s), {label(0)}), zero());
    std::optional<ValueId> left;
    std::optional<ValueId> right;
    if (adjoints_.has(u)) {
      const ValueId of_u = adjoints_.tensor(u);
      const ValueId turned = times(u, true, of_u, false);
      inner = sum_of(inner, product_of(at(turning(turned, s), 0, 1), at(s, {label(1)})));
      const ValueId inside = times(u, false, turned, false);
      left = tensor(type_of(u), quotient_of(difference(at(of_u, 0, 1), at(inside, 0, 1)), at(s, {label(1)})));
    }
    if (adjoints_.has(vt)) {
      const ValueId of_vt = adjoints_.tensor(vt);
      const ValueId turned = times(vt, false, of_vt, true);
      inner = sum_of(inner, product_of(at(s, {label(0)}), at(turning(turned, s), 0, 1)));
      const ValueId inside = times(turned, true, vt, false);
      right = tensor(type_of(vt), quotient_of(difference(at(of_vt, 0, 1), at(inside, 0, 1)), at(s, {label(0)})));
    }
    ValueId columns = times(u, false, tensor(square, inner), false);
    if (left) columns = tensor(type_of(u), sum_of(at(columns, 0, 1), at(*left, 0, 1)));
    Expr sum = at(times(columns, false, vt, false), 0, 1);
    if (right) sum = sum_of(sum, at(times(u, false, *right, false), 0, 1));
    contribute(a, sum);
  }

  /// Vectors are read as one column.
  [[nodiscard]] Expr column(ValueId v, std::int32_t row, std::int32_t number) const {
    return is_vector(v) ? at(v, {label(row)}) : at(v, row, number);
  }

  /// The sum of x[i, c] y[j, c] over the right-hand sides.
  Expr outer(ValueId x, ValueId y) {
    const Type type = matrix_type(rows(operand()), columns(operand()));
    const Expr term = product_of(column(x, 0, 2), column(y, 1, 2));
    if (is_vector(x)) return term;
    return at(product(type, columns(x), term), 0, 1);
  }

  /// A b, A' b and residuals, for one or several columns.
  ValueId applied(bool turned, ValueId v, ValueId from) {
    const ValueId a = operand();
    const Type type = batched_type_of(from);
    const std::int32_t summed = is_vector(from) ? 1 : 2;
    const Expr of_v = is_vector(from) ? at(v, {label(summed)}) : at(v, summed, 1);
    const Expr of_a = turned ? at(a, summed, 0) : at(a, 0, summed);
    const ValueId sums = product(type, turned ? rows(a) : columns(a), product_of(of_a, of_v));
    std::vector<Expr> own = {label(0)};
    if (!is_vector(from)) own.push_back(label(1));
    return tensor(type, difference(at(from, own), at(sums, own)));
  }

  void least_squares() {
    const ValueId a = operand();
    const ValueId b = routine_.operands[1];
    const ValueId x = node_.results[0];
    const ValueId of_x = adjoints_.tensor(x);
    const ValueId turned = transposed(a);
    const ValueId y = routine(Routine::Kind::kLstsq, {turned, of_x}, batched_type_of(b));
    if (activity_.contains(a)) {
      const ValueId residual = applied(false, x, b);
      const ValueId z = routine(Routine::Kind::kLstsq, {a, y}, type_of(x));
      const ValueId back = routine(Routine::Kind::kLstsq, {turned, x}, batched_type_of(b));
      const ValueId outside = applied(true, y, of_x);
      contribute(a, sum_of(difference(outer(residual, z), outer(y, x)), outer(back, outside)));
    }
    if (activity_.contains(b)) contribute(b, y);
  }
};

}  // namespace

void add_factorisation_adjoints(const Node& node, const Routine& routine, const Activity& activity, NodeWriter& writer,
                                Adjoints& adjoints) {
  FactorisationAdjoint(node, routine, activity, writer, adjoints).run();
}

}  // namespace tdsl::ir
