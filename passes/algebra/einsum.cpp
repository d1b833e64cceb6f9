#include "passes/algebra/einsum.h"

#include <algorithm>
#include <array>

#include "passes/rewriting.h"
#include "runtime/record/contraction_order.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Set of labels.
using Mask = std::uint64_t;

/// Collects the factors; false if the expression is not a product of reads.
bool factors_of(const Program& program, const Expr& e, std::vector<Einsum::Factor>& into) {
  if (const auto* product = std::get_if<Binary>(&e->op); product != nullptr && product->op == BinaryOp::kMul)
    return factors_of(program, product->left, into) && factors_of(program, product->right, into);
  const auto* r = std::get_if<Read>(&e->op);
  if (r == nullptr || r->subscripts.empty() || program.type(r->tensor).has_sparse() ||
      into.size() == record::kMostFactors)
    return false;
  Einsum::Factor factor{r->tensor, {}};
  for (const Expr& s : r->subscripts) {
    const std::int32_t label = bare_label(s);
    if (label < 0 || std::ranges::find(factor.labels, label) != factor.labels.end()) return false;
    factor.labels.push_back(label);
  }
  into.push_back(std::move(factor));
  return true;
}

Mask mask_of(const std::vector<std::int32_t>& labels) {
  Mask mask = 0;
  for (const std::int32_t l : labels) mask |= Mask{1} << l;
  return mask;
}

}  // namespace

std::optional<Einsum> einsum_of(const Program& program, const Compute& c) {
  const bool plain = c.left.empty() && !c.base && !c.guard && !c.combine && c.bodies.size() == 1 && c.monoid &&
                     c.monoid->kind == Monoid::Kind::kSum;
  if (!plain || !is_float(c.bodies[0]->type) || c.out.size() + c.reduce.size() > 2 * record::kMostFactors)
    return std::nullopt;
  Einsum einsum;
  einsum.outs = c.out.size();
  for (const auto* list : {&c.out, &c.reduce}) einsum.labels.insert(einsum.labels.end(), list->begin(), list->end());
  const bool from_zero = std::ranges::all_of(einsum.labels, [](const Label& l) { return l.begin == Extent(0); });
  if (!from_zero || !factors_of(program, c.bodies[0], einsum.factors) || einsum.factors.size() < 3) return std::nullopt;
  Mask used = 0;
  for (const Einsum::Factor& f : einsum.factors) used |= mask_of(f.labels);
  if (used != (Mask{1} << einsum.labels.size()) - 1) return std::nullopt;
  return einsum;
}

std::optional<ProductChain> chain_of(const Einsum& einsum) {
  if (einsum.outs < 1 || einsum.outs > 2) return std::nullopt;
  std::vector<bool> done(einsum.factors.size(), false);
  ProductChain chain;
  std::int32_t at = 0;  // row label of the next factor
  chain.sizes.push_back(einsum.labels[0].end);
  while (chain.factors.size() < einsum.factors.size()) {
    std::size_t next = einsum.factors.size();
    for (std::size_t k = 0; k < einsum.factors.size(); ++k) {
      if (done[k] || std::ranges::find(einsum.factors[k].labels, at) == einsum.factors[k].labels.end()) continue;
      if (next != einsum.factors.size()) return std::nullopt;  // the label joins more than two factors
      next = k;
    }
    if (next == einsum.factors.size()) return std::nullopt;
    done[next] = true;
    const Einsum::Factor& f = einsum.factors[next];
    const bool last = chain.factors.size() + 1 == einsum.factors.size();
    const bool vector = f.labels.size() == 1;
    if (f.labels.size() > 2 || vector != (last && einsum.outs == 1)) return std::nullopt;
    const bool transposed = !vector && f.labels[1] == at;
    const std::int32_t onwards = vector ? -1 : f.labels[transposed ? 0 : 1];
    // Inner labels are reduced; the last one is an out label.
    if (!vector && (static_cast<std::size_t>(onwards) < einsum.outs) != last) return std::nullopt;
    chain.factors.push_back({f.tensor, transposed, vector});
    chain.sizes.push_back(vector ? Extent(1) : einsum.labels[static_cast<std::size_t>(onwards)].end);
    at = onwards;
  }
  // All labels are part of the chain.
  const std::size_t summed = einsum.factors.size() - 1;
  return einsum.labels.size() == einsum.outs + summed ? std::optional(chain) : std::nullopt;
}

namespace {

/// Sample sizes of all labels: every non-constant extent takes every sample value.
std::vector<std::vector<double>> scenarios_of(const Einsum& einsum) {
  constexpr std::array kSizes{4.0, 64.0, 1024.0};
  constexpr std::size_t kFewExtents = 5;
  std::vector<Extent> extents;
  std::vector<std::size_t> which;
  for (const Label& l : einsum.labels) {
    const auto known = std::ranges::find(extents, l.end);
    which.push_back(static_cast<std::size_t>(known - extents.begin()));
    if (known == extents.end()) extents.push_back(l.end);
  }
  std::size_t open = 0;
  for (const Extent& e : extents) open += e.constant() ? 0 : 1;
  // Many extents take two sample values each, and only one once there are 1024 scenarios.
  const std::size_t step = open <= kFewExtents ? 1 : 2;
  std::vector<std::vector<double>> values{{}};
  for (std::size_t k = 0; k < extents.size(); ++k) {
    std::vector<std::vector<double>> longer;
    const auto constant = extents[k].constant();
    for (const std::vector<double>& v : values) {
      for (std::size_t s = 0; s < (constant ? 1 : kSizes.size()); s += step) {
        longer.push_back(v);
        longer.back().push_back(constant ? static_cast<double>(std::max<std::int64_t>(*constant, 1)) : kSizes[s]);
        if (values.size() >= 1024) break;
      }
    }
    values = std::move(longer);
  }
  std::vector<std::vector<double>> scenarios;
  for (const std::vector<double>& v : values) {
    scenarios.emplace_back();
    for (const std::size_t w : which) scenarios.back().push_back(v[w]);
  }
  return scenarios;
}

}  // namespace

bool gains_by_order(const Einsum& einsum) {
  record::ProductLabels labels;
  labels.outs = einsum.outs;
  for (const Einsum::Factor& f : einsum.factors) labels.factors.emplace_back(f.labels.begin(), f.labels.end());
  return std::ranges::any_of(scenarios_of(einsum), [&](const std::vector<double>& sizes) {
    labels.sizes = sizes;
    const record::Contractions contractions(labels);
    const record::ContractionPath path = contractions.best(record::Contractions::Least::kOperations);
    return !path.empty() && contractions.cost(path).operations < contractions.operations_as_one();
  });
}

}  // namespace tdsl::passes
