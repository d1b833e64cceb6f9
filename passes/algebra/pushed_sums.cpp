#include "passes/algebra/pushed_sums.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/algebra/costs.h"
#include "passes/algebra/element_reads.h"
#include "passes/algebra/parts.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_plain_sum(const Compute& c) {
  return c.bodies.size() == 1 && c.monoid && c.monoid->kind == Monoid::Kind::kSum && is_real(c.bodies[0]->type) &&
         !c.guard && c.left.empty() && !c.base && !c.combine && !c.in_any_order && c.out.size() + c.reduce.size() <= 63;
}

LabelSet reduce_labels_of(const Compute& c) {
  return ((LabelSet{1} << (c.out.size() + c.reduce.size())) - 1) & ~((LabelSet{1} << c.out.size()) - 1);
}

/// Sums of fewer terms, if their number is known, stay as they are.
constexpr std::int64_t kShortSum = 4096;

/// True if the sums of the factors and the remaining sum take far fewer operations than the whole sum.
bool is_cheaper(const Compute& c, const PushedSums& sums) {
  const LabelSet all = (LabelSet{1} << (c.out.size() + c.reduce.size())) - 1;
  LabelSet rest = all;
  for (const LabelSet own : sums.own) rest &= ~own;
  const auto before = points_of(c, all);
  auto after = points_of(c, rest);
  for (std::size_t f = 0; f < sums.factors.size() && after; ++f) {
    if (sums.own[f] == 0) continue;
    const auto points = points_of(c, sums.factors[f].labels);
    after = points ? std::optional(*after + *points) : std::nullopt;
  }
  if (!before || !after || before->constant().value_or(kShortSum) < kShortSum) return false;
  return sign_of(*before - Extent(kLeastGain) * *after, kLargeSize) == 1;
}

}  // namespace

std::optional<PushedSums> pushed_sums(const Program& program, const Compute& c) {
  if (!is_plain_sum(c)) return std::nullopt;
  PushedSums sums{factor_groups(c.bodies[0]), {}};
  if (sums.factors.size() < 2) return std::nullopt;
  const LabelSet summed = reduce_labels_of(c);
  bool any = false;
  for (const FactorGroup& factor : sums.factors) {
    LabelSet others = 0;
    for (const FactorGroup& other : sums.factors) others |= &other == &factor ? 0 : other.labels;
    sums.own.push_back(factor.labels & summed & ~others);
    any = any || sums.own.back() != 0;
  }
  const auto reads_sparse = [&] {
    return std::ranges::any_of(values_read(c), [&](ValueId v) { return program.type(v).has_sparse(); });
  };
  if (!any || !is_cheaper(c, sums) || reads_sparse() || can_fail(program, c)) return std::nullopt;
  return sums;
}

void push_sums(Program& program, Compute& c, const PushedSums& sums, SourceRange range, std::vector<Node>& before) {
  Expr product;
  LabelSet done = 0;
  for (std::size_t f = 0; f < sums.factors.size(); ++f) {
    Expr element = sums.factors[f].expression();
    if (sums.own[f] != 0) {
      AheadPart part = part_ahead(program, c, element, sums.own[f], range);
      before.push_back(std::move(part.node));
      element = part.element;
      done |= sums.own[f];
    }
    product = product ? binary(BinaryOp::kMul, product, element, c.bodies[0]->range) : element;
  }
  std::vector<Expr> replacements;
  std::vector<Label> rest;
  for (std::size_t l = 0; l < c.out.size() + c.reduce.size(); ++l) {
    const bool stays = (done >> l & 1) == 0;
    replacements.push_back(stays ? index_ref(static_cast<std::int32_t>(std::min(l, c.out.size() + rest.size())))
                                 : Expr());
    if (l >= c.out.size() && stays) rest.push_back(c.reduce[l - c.out.size()]);
  }
  // Without a sum, a product of -0.0 would remain, which no sum gives.
  if (rest.empty()) {
    product = binary(BinaryOp::kAdd, product, zero_of(product->type), c.bodies[0]->range);
    c.monoid.reset();
    c.fill = {};
  }
  c.reduce = std::move(rest);
  c.bodies = {substitute_labels(product, replacements)};
}

}  // namespace tdsl::passes
