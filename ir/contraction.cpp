#include "ir/contraction.h"

#include <algorithm>
#include <utility>

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
  for_each_node(e, [&](const ExprNode& n) {
    if (const auto* i = std::get_if<IndexRef>(&n.op); i != nullptr && i->label < 64)
      set |= LabelSet{1} << i->label;
  });
  return set;
}

Expr FactorGroup::expression() const {
  Expr e = factors.front();
  for (std::size_t k = 1; k < factors.size(); ++k)
    e = binary(BinaryOp::kMul, e, factors[k]);
  for (const Expr& d : divisors)
    e = binary(BinaryOp::kDiv, e, d);
  return negative ? unary(UnaryOp::kNeg, e) : e;
}

std::vector<FactorGroup> factor_groups(const Expr& e) {
  Factors all;
  collect(e, false, all);
  if (all.factors.size() + all.divisors.size() > kMostFactors)
    return {};
  std::vector<FactorGroup> groups;
  const auto is_largest = [&](const Expr& f) {
    const LabelSet own = label_set(f);
    return std::ranges::none_of(all.factors, [&](const Expr& g) { return label_set(g) != own && is_part(own, label_set(g)); });
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
      if (!is_part(labels, g.labels))
        continue;
      found = &g;
      if (g.factors.size() + g.divisors.size() > 1 || !std::holds_alternative<Read>(g.factors.front()->op))
        break;
    }
    return found;
  };
  for (const Expr& f : others)
    group_for(label_set(f))->factors.push_back(f);
  for (const Expr& d : all.divisors) {
    FactorGroup* group = group_for(label_set(d));
    if (group == nullptr)
      return {};
    group->divisors.push_back(d);
  }
  if (all.negative)
    group_for(0)->negative = true;
  return groups;
}

bool is_matrix_product(const std::vector<FactorGroup>& groups, std::size_t outs, std::size_t reduces) {
  if (groups.size() != 2 || outs + reduces > 63)
    return false;
  const LabelSet of_result = (LabelSet{1} << outs) - 1;
  const LabelSet all = (LabelSet{1} << (outs + reduces)) - 1;
  const LabelSet left = groups[0].labels, right = groups[1].labels;
  return (left | right) == all && (left & right & ~of_result) == (all & ~of_result) && (left & ~right) != 0 && (right & ~left) != 0;
}

}  // namespace tdsl::ir
