#include "ir/analysis/contraction.h"

#include <algorithm>

#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

constexpr std::size_t kMostFactors = 16;

struct Factors {
  std::vector<Expr> factors;
  std::vector<Expr> divisors;
  bool negative = false;
};

void collect(const Expr& e, bool divides, Factors& into) {
  const auto* u = std::get_if<Unary>(&e->op);
  if (u != nullptr && u->op == UnaryOp::kNeg) {
    into.negative = !into.negative;
    return collect(u->operand, divides, into);
  }
  const auto* b = std::get_if<Binary>(&e->op);
  const bool product = b != nullptr && b->op == BinaryOp::kMul;
  const bool quotient = b != nullptr && b->op == BinaryOp::kDiv && !divides;
  if (!product && !quotient) {
    (divides ? into.divisors : into.factors).push_back(e);
    return;
  }
  collect(b->left, divides, into);
  collect(b->right, divides || quotient, into);
}

bool is_part(LabelSet part, LabelSet whole) { return (part & ~whole) == 0; }

}  // namespace

LabelSet label_set(const Expr& e) {
  LabelSet set = 0;
  for (const std::int32_t label : labels_in(e)) {
    if (label < 64) set |= LabelSet{1} << label;
  }
  return set;
}

Expr FactorGroup::expression() const {
  Expr e = factors.front();
  for (std::size_t k = 1; k < factors.size(); ++k) e = binary(BinaryOp::kMul, e, factors[k]);
  for (const Expr& d : divisors) e = binary(BinaryOp::kDiv, e, d);
  return negative ? unary(UnaryOp::kNeg, e) : e;
}

std::vector<FactorGroup> factor_groups(const Expr& e) {
  Factors all;
  collect(e, false, all);
  if (all.factors.size() + all.divisors.size() > kMostFactors) return {};
  std::vector<FactorGroup> groups;
  const auto is_largest = [&](const Expr& f) {
    const LabelSet own = label_set(f);
    return std::ranges::none_of(all.factors,
                                [&](const Expr& g) { return label_set(g) != own && is_part(own, label_set(g)); });
  };
  std::vector<Expr> others;
  for (const Expr& f : all.factors) {
    const auto known = std::ranges::find(groups, label_set(f), &FactorGroup::labels);
    if (!is_largest(f)) {
      others.push_back(f);
    } else if (known != groups.end()) {
      known->factors.push_back(f);
    } else {
      groups.push_back({label_set(f), {f}, {}, false});
    }
  }
  const auto group_for = [&](LabelSet labels) -> FactorGroup* {
    FactorGroup* found = nullptr;
    for (FactorGroup& g : groups) {
      if (!is_part(labels, g.labels)) continue;
      found = &g;
      if (g.factors.size() + g.divisors.size() > 1 || !std::holds_alternative<Read>(g.factors.front()->op)) break;
    }
    return found;
  };
  for (const Expr& f : others) group_for(label_set(f))->factors.push_back(f);
  for (const Expr& d : all.divisors) {
    FactorGroup* group = group_for(label_set(d));
    if (group == nullptr) return {};
    group->divisors.push_back(d);
  }
  if (all.negative) group_for(0)->negative = true;
  return groups;
}

std::optional<LabelSet> bare_labels(const Read& r) {
  LabelSet labels = 0;
  for (const Expr& s : r.subscripts) {
    const std::int32_t label = bare_label(s);
    if (label < 0 || label >= 64 || (labels >> label & 1) != 0) return std::nullopt;
    labels |= LabelSet{1} << label;
  }
  return labels;
}

std::optional<LabelSet> shifted_labels(const Read& r) {
  LabelSet labels = 0;
  for (const Expr& s : r.subscripts) {
    const auto polynomial = subscript_polynomial(s);
    int found = 0;
    if (!polynomial) return std::nullopt;
    for (const auto& [monomial, coefficient] : polynomial->terms()) {
      if (monomial.empty()) continue;
      const bool label =
          monomial.size() == 1 && coefficient == 1 && monomial.front()->kind == Extent::Atom::Kind::kValue;
      const std::int32_t number = label ? label_value(0).id - monomial.front()->value.id : -1;
      if (number < 0 || number >= 64 || ++found > 1 || (labels >> number & 1) != 0) return std::nullopt;
      labels |= LabelSet{1} << number;
    }
  }
  return labels;
}

namespace {

/// Sets of index variables: those of the result, and all that may be summed over.
struct LabelSets {
  LabelSet of_result = 0;
  LabelSet inner = 0;
};
std::optional<LabelSets> label_sets(std::size_t outs, std::size_t reduces) {
  if (outs + reduces > 63) return std::nullopt;
  const LabelSet of_result = (LabelSet{1} << outs) - 1;
  return LabelSets{of_result, ((LabelSet{1} << (outs + reduces)) - 1) & ~of_result};
}

/// Classifies the index variables of two factors by where they occur; nothing if they are not a contraction. `units`
/// need not occur.
std::optional<Contraction> contracted(LabelSet left, LabelSet right, const LabelSets& sets, LabelSet units) {
  Contraction c;
  c.rows = left & ~right;
  c.columns = right & ~left;
  c.batch = left & right & sets.of_result;
  c.inner = left & right & sets.inner;
  const bool occur = ((left | right | units) & sets.of_result) == sets.of_result && c.inner == sets.inner;
  if (!occur || (c.rows | c.columns) == 0) return std::nullopt;
  return c;
}

}  // namespace

std::optional<Contraction> contraction_of(const Compute& c, const OperandLabels& labels) {
  if (c.bodies.size() != 1 || !c.monoid || c.monoid->kind != Monoid::Kind::kSum || c.guard || c.out.empty() ||
      !is_float(c.bodies[0]->type))
    return std::nullopt;
  const auto* product = std::get_if<Binary>(&c.bodies[0]->op);
  const auto* left =
      product == nullptr || product->op != BinaryOp::kMul ? nullptr : std::get_if<Read>(&product->left->op);
  const auto* right = left == nullptr ? nullptr : std::get_if<Read>(&product->right->op);
  if (right == nullptr || left->subscripts.empty() || right->subscripts.empty()) return std::nullopt;
  const auto sets = label_sets(c.out.size(), c.reduce.size());
  const auto of_left = labels(*left);
  const auto of_right = of_left ? labels(*right) : std::nullopt;
  if (!sets || !of_right) return std::nullopt;
  LabelSet units = 0;
  for (std::size_t l = 0; l < c.out.size(); ++l)
    units |= LabelSet{(c.out[l].end - c.out[l].begin).constant() == 1} << l;
  std::optional<Contraction> found = contracted(*of_left, *of_right, *sets, units);
  if (found) {
    found->left = product->left;
    found->right = product->right;
  }
  return found;
}

bool is_matrix_product(const std::vector<FactorGroup>& groups, std::size_t outs, std::size_t reduces) {
  const auto sets = label_sets(outs, reduces);
  const auto found =
      sets && groups.size() == 2 ? contracted(groups[0].labels, groups[1].labels, *sets, 0) : std::nullopt;
  return found && found->rows != 0 && found->columns != 0;
}

}  // namespace tdsl::ir
