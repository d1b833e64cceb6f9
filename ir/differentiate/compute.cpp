#include "ir/differentiate/compute.h"

#include <algorithm>

#include "ir/analysis/combined.h"
#include "ir/differentiate/around_boundaries.h"
#include "ir/differentiate/expr.h"
#include "ir/differentiate/place.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// The adjoints of one result of one Compute.
class ComputeAdjoint {
 public:
  ComputeAdjoint(const Node& node, Compute compute, ValueId result, const ExtentFacts& facts, const Activity& activity,
                 NodeWriter& writer, Adjoints& adjoints)
      : range_(node.range),
        compute_(std::move(compute)),
        result_(result),
        type_(writer.program().type(result)),
        facts_(facts),
        activity_(activity),
        writer_(writer),
        adjoints_(adjoints),
        labels_(all_labels(compute_)) {
    type_.scalar = operand_type(type_.scalar);
  }

  void run() {
    if (!adjoints_.has(result_)) return;
    const bool base = compute_.base && activity_.contains(*compute_.base);
    if (!base && !activity_.depends(compute_.bodies[0])) return;
    if (compute_.monoid && !compute_.left.empty()) refuse("a reduction that is written through left subscripts");
    resolve_combination();
    adjoint_ = *adjoints_.total(result_);
    if (base) {
      take_element();
      base_adjoint();
    }
    if (activity_.depends(compute_.bodies[0])) body_adjoints();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw NotDifferentiable{range_, what + " cannot be differentiated", {}};
  }

  [[nodiscard]] bool sums_elements() const { return compute_.combine && compute_.combine->kind == Monoid::Kind::kSum; }

  /// `X[i] *= v`: if all points write distinct elements, it is the assignment of `X[i] * v`.
  void resolve_combination() {
    if (!compute_.combine || sums_elements()) return;
    if (!meets_once()) {
      const Monoid::Kind kind = compute_.combine->kind;
      if (kind != Monoid::Kind::kProd && kind != Monoid::Kind::kMin && kind != Monoid::Kind::kMax)
        refuse("combining several values in one element by the monoid `" + compute_.combine->name + "`");
      const std::string& own = writer_.program().info(result_).name;
      meeting_ = meeting_slopes(compute_, type_, own.empty() ? "meeting" : own, range_, writer_);
      return;
    }
    const bool starts =
        !compute_.base && (!compute_.fill || equal(compute_.fill, identity_of(*compute_.combine, type_.scalar)));
    if (!starts) {
      const Expr old = compute_.base ? read(type_.scalar, *compute_.base, compute_.left) : compute_.fill;
      compute_.bodies[0] = combined(*compute_.combine, old, compute_.bodies[0]);
    }
    compute_.combine.reset();
  }

  /// True if every label is by itself some store subscript.
  [[nodiscard]] bool meets_once() const {
    std::vector<bool> alone(compute_.out.size(), false);
    for (const Expr& e : compute_.left) {
      const auto form = facts_.affine(e);
      if (form && form->coefficients.size() == 1)
        alone[static_cast<std::size_t>(form->coefficients.begin()->first)] = true;
    }
    return std::ranges::find(alone, false) == alone.end();
  }

  /// The subscripts of the element that a point of the out labels writes.
  [[nodiscard]] std::vector<Expr> position() const {
    if (!compute_.left.empty() || compute_.out.empty()) return compute_.left;
    std::vector<Expr> subscripts;
    for (std::size_t d = 0; d < compute_.out.size(); ++d)
      subscripts.push_back(index_difference(index_ref(static_cast<std::int32_t>(d)), expr_of(compute_.out[d].begin)));
    return subscripts;
  }

  /// The derivative with respect to a single element is read before the element is cleared, so that the tensor can be
  /// updated in place.
  void take_element() {
    const bool single = compute_.out.empty() && !compute_.left.empty() && !compute_.guard;
    if (single && !adjoint_.uniform && !meeting_ && !sums_elements())
      element_ = read(type_.scalar,
                      writer_.filled({type_.scalar, {}, {}}, adjoint_.at(type_, compute_.left), "adjoint", range_), {});
  }

  /// Elements that were not overwritten contribute to the base.
  void base_adjoint() {
    if (sums_elements()) return adjoints_.add(*compute_.base, adjoint_, range_);
    if (meeting_) {
      const Expr given = adjoint_.at(type_, plain_subscripts(type_.shape.size()));
      return adjoints_.add(
          *compute_.base,
          writer_.filled(dense(type_), product_of(given, conjugated(meeting_->element)), name(), range_), range_);
    }
    Compute cleared;
    cleared.out = compute_.out;
    cleared.bodies = {float_constant(type_.scalar, 0.0)};
    cleared.guard = compute_.guard;
    cleared.left = compute_.left;
    cleared.base = adjoint_.value;
    if (adjoint_.uniform) { cleared.base = writer_.filled(dense(type_), adjoint_.uniform, name(), range_); }
    adjoints_.add(*compute_.base, writer_.emit(std::move(cleared), dense(type_), name(), range_), range_);
  }

  static Type dense(Type t) {
    t.format = {};
    return t;
  }
  [[nodiscard]] std::string name() const {
    const std::string& own = writer_.program().info(result_).name;
    return own.empty() ? "adjoint" : own + "_adjoint";
  }

  void body_adjoints() {
    const Expr given = element_ ? element_ : adjoint_.at(type_, position());
    const Expr upstream = meeting_          ? product_of(given, conjugated(meeting_->point))
                          : compute_.monoid ? through_reduction(given)
                                            : given;
    // If the value of the body is stored, it is read.
    const bool stored = !compute_.monoid && !compute_.combine;
    const Expr own = stored ? read(compute_.bodies[0]->type, result_, position()) : Expr();
    ExprDerivative derivative([this](ValueId v) { return activity_.contains(v); }, own,
                              [this](const Expr& value, const Expr& condition) { return share(value, condition); });
    for (const Partial& p : derivative.partials(compute_.bodies[0], upstream)) {
      const std::vector<Partial> parts = at_affine_places(p, writer_.program().type(p.read.tensor), labels_, facts_);
      for (const Partial& part : parts) contribute(part, parts.size() > 1);
    }
  }

  /// The derivative of the reduction with respect to its body at one point, times `upstream`, the derivative of its
  /// result.
  Expr through_reduction(const Expr& upstream) {
    switch (compute_.monoid->kind) {
      case Monoid::Kind::kSum: return upstream;
      case Monoid::Kind::kProd: return through_product(upstream);
      case Monoid::Kind::kMin:
      case Monoid::Kind::kMax: return through_extremum(upstream);
      case Monoid::Kind::kUser: refuse("a reduction by the monoid `" + compute_.monoid->name + "`");
      case Monoid::Kind::kAny:
      case Monoid::Kind::kAll:
      case Monoid::Kind::kArgMin:
      case Monoid::Kind::kArgMax: break;
    }
    return float_constant(type_.scalar, 0.0);
  }

  /// A further reduction over the same points; read at the point. `kept` labels of the Compute are out labels.
  Expr reduction(Monoid::Kind kind, const Expr& body, std::size_t kept, const Expr& guard, Scalar scalar,
                 const std::string& suffix) {
    Compute c;
    c.out.assign(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(kept));
    c.reduce.assign(labels_.begin() + static_cast<std::ptrdiff_t>(kept), labels_.end());
    c.bodies = {body};
    c.guard = guard;
    if (!c.reduce.empty()) c.monoid = Monoid{kind, {}, {}, {}};
    return stored(std::move(c), scalar, suffix);
  }

  /// Emits a Compute without store subscripts over the first labels and reads its element at the point.
  Expr stored(Compute c, Scalar scalar, const std::string& suffix) {
    Type type{scalar, {}, {}};
    std::vector<Expr> subscripts;
    for (std::size_t l = 0; l < c.out.size(); ++l) {
      type.shape.push_back(c.out[l].end - c.out[l].begin);
      subscripts.push_back(index_difference(index_ref(static_cast<std::int32_t>(l)), expr_of(c.out[l].begin)));
    }
    const std::string& own = writer_.program().info(result_).name;
    const ValueId v = writer_.emit(std::move(c), type, own.empty() ? suffix : own + "_" + suffix, range_);
    return read(scalar, v, std::move(subscripts));
  }

  [[nodiscard]] Expr guard_over_out() const {
    return mentions_labels(compute_.guard, compute_.out.size()) ? Expr() : compute_.guard;
  }

  /// The product of the other factors, which is not result / factor if a factor is 0.
  Expr through_product(const Expr& upstream) {
    const Expr& factor = compute_.bodies[0];
    const Scalar s = factor->type;
    const Expr zero = float_constant(s, 0.0);
    const Expr is_zero = binary(BinaryOp::kEq, factor, zero);
    const Expr zeros = reduction(Monoid::Kind::kSum, cast(Scalar::kI64, is_zero), compute_.out.size(), compute_.guard,
                                 Scalar::kI64, "zeros");
    const Expr others = reduction(Monoid::Kind::kProd, select(is_zero, float_constant(s, 1.0), factor),
                                  compute_.out.size(), compute_.guard, s, "nonzero");
    const Expr plain = select(binary(BinaryOp::kEq, zeros, constant_i64(0)), quotient_of(others, factor), zero);
    const Expr only = select(binary(BinaryOp::kEq, zeros, constant_i64(1)), others, zero);
    return product_of(upstream, conjugated(select(is_zero, only, plain)));
  }

  /// Equal optima share the derivative.
  Expr through_extremum(const Expr& upstream) {
    // Note [Optima]. The first optimum is found by argmin or argmax, and only others are compared with the result: so a
    // rounding difference between two evaluations of the body cannot leave a point without an optimum.
    const bool least = compute_.monoid->kind == Monoid::Kind::kMin;
    const Monoid::Kind best = compute_.monoid->kind;
    const Monoid::Kind place = least ? Monoid::Kind::kArgMin : Monoid::Kind::kArgMax;
    const Scalar s = type_.scalar;
    const std::size_t outer = compute_.out.size();
    Expr first;
    Expr value = compute_.bodies[0];
    Expr guard = compute_.guard;
    for (std::size_t kept = labels_.size(); kept-- > outer;) {
      const Expr at = along_last(place, value, kept, guard, Scalar::kI64, "place");
      first = conjunction_of(binary(BinaryOp::kEq, index_ref(static_cast<std::int32_t>(kept)), at), first);
      if (kept > outer) value = along_last(best, value, kept, guard, s, "best");
      guard = Expr();
    }
    const Expr result = read(s, result_, position());
    const Expr equal_one = binary(BinaryOp::kEq, compute_.bodies[0], result);
    const Expr optimal = first ? binary(BinaryOp::kOr, first, equal_one) : equal_one;
    const Expr count = reduction(Monoid::Kind::kSum, cast(s, optimal), outer, compute_.guard, s, "optima");
    Compute part;
    part.out = compute_.out;
    part.guard = guard_over_out();
    part.bodies = {quotient_of(upstream, count)};
    return where(optimal, stored(std::move(part), s, "part"));
  }

  /// A reduction over label number `kept`, at fixed earlier labels.
  Expr along_last(Monoid::Kind kind, const Expr& body, std::size_t kept, const Expr& guard, Scalar scalar,
                  const std::string& suffix) {
    Compute c;
    c.out.assign(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(kept));
    c.reduce = {labels_[kept]};
    c.bodies = {body};
    c.guard = guard;
    c.monoid = Monoid{kind, {}, {}, {}};
    return stored(std::move(c), scalar, suffix);
  }

  /// Stores a derivative that two operands need, if the points are no more numerous than the elements of an operand.
  Expr share(const Expr& value, const Expr& condition) {
    bool as_large = false;
    for_each_read(compute_.bodies[0], [&](const Read& r) { as_large = as_large || reads_every_label(r); });
    if (!as_large) return value;
    Compute c;
    c.out = labels_;
    c.bodies = {where(condition, value)};
    c.guard = compute_.guard;
    return stored(std::move(c), value->type, "adjoint");
  }

  [[nodiscard]] bool reads_every_label(const Read& r) const {
    std::vector<bool> seen(labels_.size(), false);
    for (const Expr& s : r.subscripts) {
      if (const std::int32_t label = bare_label(s); label >= 0) seen[static_cast<std::size_t>(label)] = true;
    }
    return std::ranges::find(seen, false) == seen.end();
  }

  /// `is_part`: one of several contributions of a read, which become one stencil.
  void contribute(const Partial& p, bool is_part) {
    const Type type = adjoint_type(writer_.program(), p.read.tensor);
    const bool is_protected = p.condition || compute_.guard;
    Placement placed = place(facts_, p.read.subscripts, type, labels_, is_protected, is_part);
    const Expr condition = with_labels(p.condition, placed.labels);
    const Expr value = with_labels(p.value, placed.labels);
    Compute c;
    c.out = std::move(placed.out);
    c.reduce = std::move(placed.reduce);
    c.left = std::move(placed.left);
    c.guard = conjunction_of(placed.guard, with_labels(compute_.guard, placed.labels));
    if (!c.left.empty() || !c.reduce.empty()) {
      c.guard = conjunction_of(c.guard, condition);
      c.bodies = {value};
    } else {
      c.bodies = {where(conjunction_of(c.guard, condition), value)};
      c.guard = Expr();
    }
    if (!c.reduce.empty()) c.monoid = Monoid{Monoid::Kind::kSum, {}, {}, {}};
    adjoints_.add(p.read.tensor, std::move(c), placed.combines, range_);
  }

  SourceRange range_;
  Compute compute_;
  ValueId result_;
  Type type_;  ///< of the result's derivative, with the result's format
  const ExtentFacts& facts_;
  const Activity& activity_;
  NodeWriter& writer_;
  Adjoints& adjoints_;
  std::vector<Label> labels_;
  Adjoint adjoint_;
  Expr element_;                          ///< the derivative with respect to the single written element; may be null
  std::optional<MeetingSlopes> meeting_;  ///< if several points are combined in an element other than by `+=`
};

}  // namespace

void add_adjoints(const Node& node, const Compute& compute, const ExtentFacts& facts, const Activity& activity,
                  NodeWriter& writer, Adjoints& adjoints) {
  for (std::size_t k = 0; k < node.results.size(); ++k) {
    Compute one = compute;
    one.bodies = {compute.bodies[k]};
    ComputeAdjoint(node, std::move(one), node.results[k], facts, activity, writer, adjoints).run();
  }
}

}  // namespace tdsl::ir
