#include "codegen/affine.h"

#include <algorithm>

#include "ir/procedure.h"

namespace tdsl::codegen {

namespace {

using ir::match;

AffineForm scaled(AffineForm form, const Extent& factor) {
  for (Term& t : form.terms) t.coefficient = t.coefficient * factor;
  form.constant = form.constant * factor;
  std::erase_if(form.terms, [](const Term& t) { return t.coefficient == Extent(0); });
  return form;
}

AffineForm sum(const AffineForm& a, const AffineForm& b) {
  AffineForm result = a;
  result.constant = a.constant + b.constant;
  for (const Term& t : b.terms) {
    const auto same = std::ranges::find_if(result.terms, [&](const Term& r) { return r.label == t.label; });
    if (same != result.terms.end()) {
      same->coefficient = same->coefficient + t.coefficient;
    } else {
      result.terms.push_back(t);
    }
  }
  std::erase_if(result.terms, [](const Term& t) { return t.coefficient == Extent(0); });
  std::ranges::sort(result.terms, {}, &Term::label);
  return result;
}

class Analysis {
 public:
  explicit Analysis(const Hoist& hoist) : hoist_(hoist) {}

  [[nodiscard]] std::optional<AffineForm> form(const Expr& e) const {
    const auto found = match(
        e->op,
        [](const ir::Constant& c) -> std::optional<AffineForm> {
          const auto* value = std::get_if<std::int64_t>(&c.value);
          return value ? std::optional(AffineForm{{}, Extent(*value)}) : std::nullopt;
        },
        [](const ir::IndexRef& r) -> std::optional<AffineForm> { return AffineForm{{{r.label, Extent(1)}}, {}}; },
        [&](const ir::Read& r) -> std::optional<AffineForm> {
          if (!r.subscripts.empty() || e->type != ir::Scalar::kI64) return std::nullopt;
          const std::optional<ValueId> v = hoist_(e);
          return v ? std::optional(AffineForm{{}, Extent::of(*v)}) : std::nullopt;
        },
        [](const ir::Argument&) -> std::optional<AffineForm> { return std::nullopt; },
        [&](const ir::Unary& u) -> std::optional<AffineForm> {
          if (u.op != ir::UnaryOp::kNeg) return std::nullopt;
          const auto operand = form(u.operand);
          return operand ? std::optional(scaled(*operand, Extent(-1))) : std::nullopt;
        },
        [&](const ir::Binary& b) { return binary(b); },
        [](const ir::Select&) -> std::optional<AffineForm> { return std::nullopt; },
        [](const ir::Cast&) -> std::optional<AffineForm> { return std::nullopt; },
        [](const ir::Apply&) -> std::optional<AffineForm> { return std::nullopt; });
    if (found || mentions_label(e)) return found;
    const std::optional<ValueId> v = hoist_(e);
    return v ? std::optional(AffineForm{{}, Extent::of(*v)}) : std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<AffineForm> binary(const ir::Binary& b) const {
    const bool linear = b.op == ir::BinaryOp::kAdd || b.op == ir::BinaryOp::kSub || b.op == ir::BinaryOp::kMul;
    const bool quotient = b.op == ir::BinaryOp::kDiv || b.op == ir::BinaryOp::kRem;
    if (!linear && !quotient) return std::nullopt;
    const auto left = form(b.left);
    const auto right = left ? form(b.right) : std::nullopt;
    if (!left || !right) return std::nullopt;
    if (b.op == ir::BinaryOp::kAdd) return sum(*left, *right);
    if (b.op == ir::BinaryOp::kSub) return sum(*left, scaled(*right, Extent(-1)));
    if (b.op == ir::BinaryOp::kMul) {
      if (right->terms.empty()) return scaled(*left, right->constant);
      if (left->terms.empty()) return scaled(*right, left->constant);
      return std::nullopt;
    }
    const auto divisor = right->constant.constant();
    if (!left->terms.empty() || !right->terms.empty() || !divisor || *divisor == 0) return std::nullopt;
    return AffineForm{{}, b.op == ir::BinaryOp::kDiv ? Extent::quotient(left->constant, right->constant)
                                                     : Extent::remainder(left->constant, right->constant)};
  }

  const Hoist& hoist_;
};

}  // namespace

std::optional<AffineForm> affine_of(const Expr& e, const Hoist& hoist) { return Analysis(hoist).form(e); }

std::optional<QuotientForm> quotient_of(const Expr& e, const Hoist& hoist) {
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr || b->op != ir::BinaryOp::kDiv || e->type != ir::Scalar::kI64) return std::nullopt;
  auto numerator = affine_of(b->left, hoist);
  const auto divisor = affine_of(b->right, hoist);
  if (!numerator || numerator->terms.empty() || !divisor || !divisor->terms.empty()) return std::nullopt;
  return QuotientForm{std::move(*numerator), divisor->constant};
}

bool provably_inside(const QuotientForm& form, const std::vector<LabelTemplate>& labels, const Extent& extent) {
  return provably_inside(form.numerator, labels, extent * form.divisor);
}

bool is_data_subscript(const ir::Read& read, std::size_t d, const Hoist& hoist) {
  const Expr& e = read.subscripts[d];
  if (affine_of(e, hoist) || quotient_of(e, hoist)) return false;
  // i % m beside i / m: what a task's quotients leave open is at most the rows at its ends.
  bool reads = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    const auto* r = std::get_if<ir::Read>(&n.op);
    reads = reads || (r != nullptr && !r->subscripts.empty());
  });
  for (std::size_t k = 0; k < d && !reads; ++k) {
    if (quotient_of(read.subscripts[k], hoist)) return false;
  }
  return true;
}

bool mentions_label(const Expr& e) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) { found = found || std::holds_alternative<ir::IndexRef>(n.op); });
  return found;
}

bool may_fail(const Expr& e) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& n) { found = found || ir::operation_may_fail(n); });
  return found;
}

std::optional<Hull> hull_of(const AffineForm& form, const std::vector<LabelTemplate>& labels) {
  Hull hull{form.constant, form.constant};
  for (const Term& t : form.terms) {
    const auto c = t.coefficient.constant();
    if (!c) return std::nullopt;
    const LabelTemplate& label = labels[static_cast<std::size_t>(t.label)];
    const Extent first = label.begin * Extent(*c);
    const Extent last = (label.end - Extent(1)) * Extent(*c);
    hull.low = hull.low + (*c > 0 ? first : last);
    hull.high = hull.high + (*c > 0 ? last : first);
  }
  return hull;
}

bool provably_inside(const AffineForm& form, const std::vector<LabelTemplate>& labels, const Extent& extent) {
  const std::optional<Hull> hull = hull_of(form, labels);
  if (!hull) return false;
  const auto low = hull->low.constant();
  const auto room = (extent - Extent(1) - hull->high).constant();
  return low && *low >= 0 && room && *room >= 0;
}

}  // namespace tdsl::codegen
