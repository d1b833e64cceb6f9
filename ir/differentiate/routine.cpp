#include "ir/differentiate/routine.h"

#include <functional>
#include <utility>

#include "ir/differentiate/compute.h"
#include "ir/differentiate/routine_writer.h"
#include "ir/graph/check.h"
#include "ir/graph/computes.h"

namespace tdsl::ir {

namespace {

class RoutineAdjoint : RoutineAdjointWriter {
 public:
  using RoutineAdjointWriter::RoutineAdjointWriter;

  void run() {
    using Kind = Routine::Kind;
    switch (routine_.kind) {
      case Kind::kCumsum: return running_sums();
      case Kind::kCumprod: return running_products();
      case Kind::kCummax:
      case Kind::kCummin: return running_extrema();
      case Kind::kSort: return sorted();
      case Kind::kTopk: return largest();
      case Kind::kFft: return transformed(Kind::kIfft);
      case Kind::kIfft: return transformed(Kind::kFft);
      case Kind::kRfft: return transformed_reals();
      case Kind::kIrfft: return transformed_to_reals();
      case Kind::kSolve: return solved();
      case Kind::kInv: return inverse();
      case Kind::kDet: return determinant();
      case Kind::kCholesky: return lower_factor();
      case Kind::kArgsort: return;
      case Kind::kForeign:
        throw NotDifferentiable{node_.range, "the kernel `" + routine_.foreign->name + "` of " +
                                                 routine_.foreign->header + " cannot be differentiated"};
      case Kind::kEig: throw NotDifferentiable{node_.range, "`eig` cannot be differentiated", {}};
      case Kind::kQr:
      case Kind::kSvd:
      case Kind::kEigh:
      case Kind::kLstsq:
      case Kind::kLu: return add_factorisation_adjoints(node_, routine_, activity_, writer_, adjoints_);
      case Kind::kFilter: TDSL_CHECK(false, "filters are made of gathers after differentiation");
    }
  }

 private:
  [[nodiscard]] std::size_t axis() const { return static_cast<std::size_t>(routine_.axis); }

  /// Subscripts of the element that mirrors the point along the axis.
  [[nodiscard]] std::vector<Expr> mirrored(const Type& type) const {
    std::vector<Expr> subscripts = plain_subscripts(type.rank());
    subscripts[axis()] = index_difference(expr_of(type.shape[axis()] - Extent(1)), subscripts[axis()]);
    return subscripts;
  }

  void running_sums() {
    const ValueId operand = routine_.operands[0];
    const Type type = type_of(operand);
    const ValueId given = adjoints_.tensor(node_.results[0]);
    const ValueId turned = tensor(type, at(given, mirrored(type)));
    const ValueId sums = routine(Routine::Kind::kCumsum, {turned}, type, routine_.axis);
    contribute(operand, at(sums, mirrored(type)));
  }

  /// With q the product of the elements that are not 0, and z the number of zeros up to a place: an element that is not
  /// 0 gets the sum of d q over later places with z = 0, divided by it; the first 0 gets the sum over those with z = 1.
  void running_products() {
    const ValueId operand = routine_.operands[0];
    const Type type = type_of(operand);
    Type counts = type;
    counts.scalar = Scalar::kI64;
    const ValueId given = adjoints_.tensor(node_.results[0]);
    const Expr x = at(operand, plain_subscripts(type.rank()));
    const Expr zero = float_constant(type.scalar, 0.0);
    const Expr is_zero = binary(BinaryOp::kEq, x, zero);
    const ValueId found = tensor(counts, select(is_zero, constant_i64(1), constant_i64(0)));
    const ValueId zeros = routine(Routine::Kind::kCumsum, {found}, counts, routine_.axis);
    const ValueId others = tensor(type, select(is_zero, float_constant(type.scalar, 1.0), x));
    const ValueId products = routine(Routine::Kind::kCumprod, {others}, type, routine_.axis);
    const auto later_sums = [&](std::int64_t count) {
      const Expr counts_here = binary(BinaryOp::kEq, at(zeros, mirrored(type)), constant_i64(count));
      const Expr term = product_of(at(given, mirrored(type)), conjugated(at(products, mirrored(type))));
      const ValueId terms = tensor(type, select(counts_here, term, zero));
      return at(routine(Routine::Kind::kCumsum, {terms}, type, routine_.axis), mirrored(type));
    };
    const Expr is_first = binary(BinaryOp::kEq, at(zeros, plain_subscripts(type.rank())), constant_i64(1));
    const Expr of_zero = select(is_first, later_sums(1), zero);
    contribute(operand, select(is_zero, of_zero, quotient_of(later_sums(0), conjugated(x))));
  }

  /// Each derivative goes to the latest element that equals the result.
  void running_extrema() {
    const ValueId operand = routine_.operands[0];
    const Type type = type_of(operand);
    Type places = type;
    places.scalar = Scalar::kI64;
    const std::vector<Expr> here = plain_subscripts(type.rank());
    const ValueId given = adjoints_.tensor(node_.results[0]);
    const Expr is_extremum = binary(BinaryOp::kEq, at(operand, here), at(node_.results[0], here));
    const ValueId found = tensor(places, select(is_extremum, here[axis()], constant_i64(0)));
    const ValueId from = routine(Routine::Kind::kCummax, {found}, places, routine_.axis);
    Compute c;
    c.out = plain_labels(type.shape);
    c.bodies = {at(given, here)};
    c.left = here;
    c.left[axis()] = at(from, here);
    adjoints_.add(operand, std::move(c), true, node_.range);
  }

  /// argsort gives the sources of sorted elements; argsort of that gives their destinations.
  void sorted() {
    const ValueId operand = routine_.operands[0];
    Type places = type_of(operand);
    const ValueId given = adjoints_.tensor(node_.results[0]);
    places.scalar = Scalar::kI64;
    const ValueId from = routine(Routine::Kind::kArgsort, {operand}, places, routine_.axis);
    const ValueId to = routine(Routine::Kind::kArgsort, {from}, places, routine_.axis);
    std::vector<Expr> subscripts = plain_subscripts(places.rank());
    subscripts[axis()] = at(to, plain_subscripts(places.rank()));
    contribute(operand, at(given, std::move(subscripts)));
  }

  void largest() {
    if (!adjoints_.has(node_.results[0])) return;
    const Type type = type_of(node_.results[0]);
    const ValueId given = adjoints_.tensor(node_.results[0]);
    Compute c;
    c.out = plain_labels(type.shape);
    c.bodies = {at(given, plain_subscripts(type.rank()))};
    c.left = plain_subscripts(type.rank());
    c.left[axis()] = at(node_.results[1], plain_subscripts(type.rank()));
    adjoints_.add(routine_.operands[0], std::move(c), true, node_.range);
  }

  /// The adjoint of the matrix of a transform is that of the inverse one, with the same factor.
  void transformed(Routine::Kind other) {
    const ValueId operand = routine_.operands[0];
    const Type type = type_of(node_.results[0]);
    const ValueId back = fourier(other, adjoints_.tensor(node_.results[0]), type);
    const Expr element = at(back, plain_subscripts(type.rank()));
    contribute(operand, is_complex(type_of(operand).scalar) ? element : unary(UnaryOp::kReal, element));
  }

  /// Whether the label of `axis` is an element of a transform of n reals that is its own conjugate: the first, or n
  /// / 2.
  [[nodiscard]] Expr is_end(const Extent& n) const {
    const Expr k = index_ref(static_cast<std::int32_t>(axis()));
    const Expr twice = index_sum(k, k);
    return binary(BinaryOp::kOr, binary(BinaryOp::kEq, k, constant_i64(0)), binary(BinaryOp::kEq, twice, expr_of(n)));
  }

  /// irfft counts elements twice, except for the ends.
  void transformed_reals() {
    const ValueId operand = routine_.operands[0];
    const Type reals = type_of(operand);
    const Type type = type_of(node_.results[0]);
    const Expr given = at(adjoints_.tensor(node_.results[0]), plain_subscripts(type.rank()));
    const Expr half = product_of(float_constant(type.scalar, 0.5), given);
    const ValueId halves = tensor(type, select(is_end(reals.shape[axis()]), given, half));
    const ValueId back = fourier(Routine::Kind::kIrfft, halves, reals);
    contribute(operand, at(back, plain_subscripts(reals.rank())));
  }

  void transformed_to_reals() {
    const ValueId operand = routine_.operands[0];
    const Type type = type_of(operand);
    const ValueId back = fourier(Routine::Kind::kRfft, adjoints_.tensor(node_.results[0]), type);
    const Expr once = at(back, plain_subscripts(type.rank()));
    const Expr twice = product_of(float_constant(type.scalar, 2.0), once);
    contribute(operand, select(is_end(type_of(node_.results[0]).shape[axis()]), once, twice));
  }

  void solved() {
    using SolveKind = Routine::SolveKind;
    const ValueId a = routine_.operands[0];
    const ValueId b = routine_.operands[1];
    const ValueId x = node_.results[0];
    const SolveKind kind = routine_.solves;
    const SolveKind turned = kind == SolveKind::kLower   ? SolveKind::kUpper
                             : kind == SolveKind::kUpper ? SolveKind::kLower
                                                         : kind;
    const ValueId given = adjoints_.tensor(x);
    const ValueId matrix = kind == SolveKind::kPositive ? a : transposed(a);
    const ValueId of_b = solution(matrix, given, batched_type_of(b), turned);
    if (activity_.contains(a)) contribute(a, of_read_part(matrix_adjoint(of_b, x)));
    if (activity_.contains(b)) contribute(b, of_b);
  }

  /// Elements of -db x' at rows and columns, for every matrix.
  std::function<Expr(std::int32_t, std::int32_t)> matrix_adjoint(ValueId of_b, ValueId x) {
    if (is_vector(x)) {
      return [=, this](std::int32_t row, std::int32_t column) {
        return negation_of(product_of(at(of_b, {label(row)}), at(x, {label(column)})));
      };
    }
    const ValueId a = routine_.operands[0];
    const Expr term = product_of(at(of_b, {label(0), label(2)}), at(x, {label(1), label(2)}));
    const ValueId sums = product(matrix_type(rows(a), columns(a)), columns(x), term);
    return [=, this](std::int32_t row, std::int32_t column) { return negation_of(at(sums, row, column)); };
  }

  /// The derivative by the triangle that `solve` reads.
  [[nodiscard]] Expr of_read_part(const std::function<Expr(std::int32_t, std::int32_t)>& of_a) const {
    using SolveKind = Routine::SolveKind;
    const Expr own = of_a(0, 1);
    switch (routine_.solves) {
      case SolveKind::kGeneral: return own;
      case SolveKind::kPositive: return lower_half(sum_of(own, of_a(1, 0)));
      case SolveKind::kLower:
      case SolveKind::kUpper: break;
    }
    const BinaryOp reads = routine_.solves == SolveKind::kLower ? BinaryOp::kGe : BinaryOp::kLe;
    return select(binary(reads, label(0), label(1)), own, float_constant(own->type, 0.0));
  }

  void inverse() {
    const ValueId a = routine_.operands[0];
    const ValueId y = node_.results[0];
    const ValueId given = adjoints_.tensor(y);
    const Type type = type_of(a);
    const Extent n = rows(a);
    const ValueId left =
        product(type, n, product_of(conjugated(at(y, {label(2), label(0)})), at(given, {label(2), label(1)})));
    const ValueId both =
        product(type, n, product_of(at(left, {label(0), label(2)}), conjugated(at(y, {label(1), label(2)}))));
    contribute(a, negation_of(at(both, {label(0), label(1)})));
  }

  void determinant() {
    const ValueId a = routine_.operands[0];
    const ValueId d = node_.results[0];
    const Type type = type_of(d);
    const Expr scale = product_of(at(adjoints_.tensor(d), {}), conjugated(at(d, {})));
    const ValueId factor = tensor(type, scale);
    const ValueId y = routine(Routine::Kind::kInv, {a}, type_of(a));
    contribute(a, product_of(at(factor, {}), conjugated(at(y, {label(1), label(0)}))));
  }

  void lower_factor() {
    const ValueId a = routine_.operands[0];
    const ValueId l = node_.results[0];
    const ValueId given = adjoints_.tensor(l);
    const Type type = type_of(a);
    const Expr zero = float_constant(type.scalar, 0.0);
    // Above the diagonal the factor is 0 for any A.
    const Expr used = select(binary(BinaryOp::kGe, label(0), label(1)), at(given, {label(0), label(1)}), zero);
    const ValueId triangle = tensor(type, used);
    const Expr term = product_of(at(l, {label(2), label(0)}), at(triangle, {label(2), label(1)}));
    const ValueId products = product(type, rows(a), term);
    const ValueId p = tensor(type, lower_half(at(products, 0, 1)));
    const ValueId upper = transposed(l);
    const ValueId z = solution(upper, p, type);
    const ValueId s = solution(upper, transposed(z), type);
    contribute(a, lower_half(sum_of(at(s, 0, 1), at(s, 1, 0))));
  }
};

}  // namespace

void add_adjoints(const Node& node, const Routine& routine, const Activity& activity, NodeWriter& writer,
                  Adjoints& adjoints) {
  RoutineAdjoint(node, routine, activity, writer, adjoints).run();
}

}  // namespace tdsl::ir
