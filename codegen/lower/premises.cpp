#include "codegen/lower/premises.h"

#include <algorithm>
#include <optional>

#include "ir/eval/small_sums.h"
#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

namespace {

/// Shifts of periodic indices up to this one wrap around at few points, except in tiny ranges.
constexpr std::int64_t kFewSteps = 64;

AffineForm difference_of(const AffineForm& a, const AffineForm& b) {
  AffineForm result{a.terms, a.constant - b.constant};
  for (const Term& t : b.terms) {
    const auto same = std::ranges::find(result.terms, t.label, &Term::label);
    if (same != result.terms.end()) {
      same->coefficient = same->coefficient - t.coefficient;
    } else {
      result.terms.push_back({t.label, Extent(0) - t.coefficient});
    }
  }
  std::erase_if(result.terms, [](const Term& t) { return t.coefficient == Extent(0); });
  return result;
}

/// The negation of the comparison.
std::optional<ir::BinaryOp> opposite(ir::BinaryOp op) {
  using enum ir::BinaryOp;
  switch (op) {
    case kLt: return kGe;
    case kLe: return kGt;
    case kGt: return kLe;
    case kGe: return kLt;
    case kEq: return kNe;
    case kNe: return kEq;
    default: return std::nullopt;
  }
}

}  // namespace

Premises::Premises(ProgramBuilder& builder, const RecordedOp& op) : builder_(builder), labels_(indices_of(op)) {
  for (const SymbolicLabel& l : op.labels) {
    if (!l.from_data) positive_.push_back({{}, l.range.hi - l.range.lo - Extent(1)});
  }
}

void Premises::assume(const Expr& condition, bool value) {
  if (const auto* u = std::get_if<ir::Unary>(&condition->op); u != nullptr && u->op == ir::UnaryOp::kNot)
    return assume(u->operand, !value);
  const auto* b = std::get_if<ir::Binary>(&condition->op);
  if (b == nullptr) return;
  if (ir::is_logical(b->op)) {
    // A true `&&` has two true operands, a false `||` two false ones.
    if (value != (b->op == ir::BinaryOp::kAnd)) return;
    assume(b->left, value);
    assume(b->right, value);
    return;
  }
  if (b->left->type != ir::Scalar::kI64) return;
  const auto op = value ? std::optional(b->op) : opposite(b->op);
  if (!op || !opposite(*op)) return;
  const ir::Hoist hoist = [this](const Expr& x) { return builder_.hoist(x); };
  const auto left = ir::affine_of(b->left, hoist);
  const auto right = left ? ir::affine_of(b->right, hoist) : std::nullopt;
  if (!right) return;
  learn_of_turns(*left);
  learn_of_turns(*right);
  if (cannot_wrap(*left) && cannot_wrap(*right)) compare(*op, *left, *right);
}

void Premises::compare(ir::BinaryOp op, const AffineForm& left, const AffineForm& right) {
  using enum ir::BinaryOp;
  if (op == kNe) return differ(left, right);
  if (op == kEq) {
    positive_.push_back(difference_of(left, right));
    positive_.push_back(difference_of(right, left));
    return;
  }
  AffineForm form = op == kLt || op == kLe ? difference_of(right, left) : difference_of(left, right);
  if (op == kLt || op == kGt) form.constant = form.constant - Extent(1);
  positive_.push_back(std::move(form));
}

/// If one of two different forms is never less than the other, it is greater.
void Premises::differ(const AffineForm& left, const AffineForm& right) {
  for (AffineForm form : {difference_of(left, right), difference_of(right, left)}) {
    if (!never_negative(form)) continue;
    form.constant = form.constant - Extent(1);
    positive_.push_back(std::move(form));
  }
}

/// Adds 0 <= v < n for values v = `mod(c, max(n, 1))` in the form, if an index variable runs over 0 .. n - 1.
void Premises::learn_of_turns(const AffineForm& form) {
  for (const ValueId v : form.constant.values()) {
    const Expr definition = builder_.definition(v);
    const auto* turn = definition ? std::get_if<ir::Binary>(&definition->op) : nullptr;
    const auto* divisor =
        turn != nullptr && turn->op == ir::BinaryOp::kMod ? std::get_if<ir::Binary>(&turn->right->op) : nullptr;
    if (divisor == nullptr || divisor->op != ir::BinaryOp::kMax || !ir::equal(divisor->right, ir::constant_i64(1)))
      continue;
    const auto size = ir::affine_of(divisor->left, [this](const Expr& x) { return builder_.hoist(x); });
    const bool runs = size && std::ranges::any_of(labels_, [&](const ir::Label& l) {
                        return l.begin == Extent(0) && l.end == size->constant;
                      });
    if (!runs) continue;
    const auto steps = ir::extent_of(turn->left);
    const auto number = steps ? steps->constant() : std::nullopt;
    turns_.emplace(v, number && -kFewSteps <= *number && *number <= kFewSteps ? number : std::nullopt);
    positive_.push_back({{}, Extent::of(v)});
    positive_.push_back({{}, size->constant - Extent(1) - Extent::of(v)});
  }
}

bool Premises::cannot_wrap(const AffineForm& form) const {
  const auto is_one = [](const Extent& e) { return e == Extent(1) || e == Extent(-1); };
  if (!std::ranges::all_of(form.terms, [&](const Term& t) { return is_one(t.coefficient); })) return false;
  return ir::is_small_sum(form.constant, [&](const Extent& product) {
    const bool ends = std::ranges::any_of(labels_, [&](const ir::Label& l) {
      const auto beyond = (l.end - product).constant();
      return beyond && ir::is_small_number(*beyond);
    });
    const auto value = product.as_value();
    const bool turns = value && turns_.contains(*value);
    return ends || turns;
  });
}

bool Premises::inside(const AffineForm& form, const Extent& extent) const {
  return never_negative(form) && below(form, extent);
}

bool Premises::below(const AffineForm& form, const Extent& extent) const {
  return never_negative(difference_of({{}, extent - Extent(1)}, form));
}

bool Premises::never_negative(const AffineForm& form) const {
  return surely_low(form) || std::ranges::any_of(positive_, [&](const AffineForm& known) {
           return surely_low(difference_of(form, known));
         });
}

bool Premises::surely_low(const AffineForm& form) const {
  const auto hull = ir::hull_of(form, labels_);
  const auto low = hull ? hull->low.constant() : std::nullopt;
  return low && *low >= 0;
}

}  // namespace tdsl::codegen
