#include "passes/algebra/product_chain.h"

#include <algorithm>
#include <variant>

#include "ir/analysis/contraction.h"
#include "passes/algebra/costs.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The factor that `e` reads with subscripts `row` and `column` (-1: a vector subscripted by `row`).
std::optional<Factor> factor_of(const Expr& e, std::int32_t row, std::int32_t column) {
  const auto* r = std::get_if<Read>(&e->op);
  if (r == nullptr) return std::nullopt;
  std::vector<std::int32_t> labels;
  for (const Expr& s : r->subscripts) labels.push_back(bare_label(s));
  if (labels == std::vector{row, column}) return Factor{r->tensor, false, false};
  if (labels == std::vector{column, row}) return Factor{r->tensor, true, false};
  if (column < 0 && labels == std::vector{row}) return Factor{r->tensor, false, true};
  return std::nullopt;
}

}  // namespace

std::optional<Product> product_of(const Compute& c) {
  const auto contraction =
      c.left.empty() && !c.base && c.reduce.size() == 1 && c.out.size() <= 2 ? contraction_of(c) : std::nullopt;
  if (!contraction) return std::nullopt;
  for (const auto* list : {&c.out, &c.reduce}) {
    if (!std::ranges::all_of(*list, [](const Label& l) { return l.begin == Extent(0); })) return std::nullopt;
  }
  const bool vector = c.out.size() == 1;
  const std::int32_t inner = vector ? 1 : 2;
  const std::int32_t column = vector ? -1 : 1;
  const bool turned = (contraction->columns & 1) != 0;  // the second factor has the rows
  const auto left = factor_of(turned ? contraction->right : contraction->left, 0, inner);
  const auto right = factor_of(turned ? contraction->left : contraction->right, inner, column);
  if (!left || !right || left->vector) return std::nullopt;
  return Product{*left, *right, c.out[0].end, c.reduce[0].end, vector ? Extent(1) : c.out[1].end};
}

namespace {

/// Position in the region of the product that computes `f` for this use only.
std::optional<std::size_t> producer(const Region& region, const Factor& f, const std::vector<int>& uses,
                                    const std::vector<bool>& removed) {
  const auto id = static_cast<std::size_t>(f.tensor.id);
  if (f.transposed || id >= uses.size() || uses[id] != 1) return std::nullopt;
  for (std::size_t k = 0; k < region.nodes.size(); ++k) {
    if (removed[k] || region.nodes[k].results.size() != 1 || region.nodes[k].results[0] != f.tensor) continue;
    const auto* c = std::get_if<Compute>(&region.nodes[k].op);
    if (c != nullptr && product_of(*c)) return k;
  }
  return std::nullopt;
}

void extend(const Region& region, const Product& p, const std::vector<int>& uses, const std::vector<bool>& removed,
            ProductChain& chain) {
  for (const auto& [factor, columns] : {std::pair(p.left, p.inner), std::pair(p.right, p.columns)}) {
    const auto inner = producer(region, factor, uses, removed);
    if (inner) {
      chain.absorbed.push_back(*inner);
      extend(region, *product_of(std::get<Compute>(region.nodes[*inner].op)), uses, removed, chain);
    } else {
      chain.factors.push_back(factor);
      chain.sizes.push_back(columns);
    }
  }
}

}  // namespace

std::optional<ProductChain> chain_at(const Region& region, std::size_t k, const std::vector<int>& uses,
                                     const std::vector<bool>& removed) {
  const auto* c = std::get_if<Compute>(&region.nodes[k].op);
  const auto product = c == nullptr ? std::nullopt : product_of(*c);
  if (!product) return std::nullopt;
  ProductChain chain;
  chain.sizes.push_back(product->rows);
  extend(region, *product, uses, removed, chain);
  return chain.factors.size() > 2 ? std::optional(chain) : std::nullopt;
}

Extent written_cost(const Region& region, std::size_t k, const ProductChain& chain) {
  std::vector<std::size_t> products = chain.absorbed;
  products.push_back(k);
  Extent sum;
  for (const std::size_t node : products) {
    const Product p = *product_of(std::get<Compute>(region.nodes[node].op));
    sum = sum + p.rows * p.inner * p.columns;
  }
  return sum;
}

bool ProductOrder::solve() {
  for (std::size_t length = 2; length <= n_; ++length) {
    for (std::size_t first = 0; first + length <= n_; ++first) {
      if (!solve(first, first + length - 1)) return false;
    }
  }
  return true;
}

Extent ProductOrder::cost(std::size_t first, std::size_t last) const {
  return first == last ? Extent(0) : costs_.at({first, last});
}

bool ProductOrder::solve(std::size_t first, std::size_t last) {
  std::optional<Extent> best;
  for (std::size_t k = first; k < last; ++k) {
    const Extent here =
        cost(first, k) + cost(k + 1, last) + chain_.sizes[first] * chain_.sizes[k + 1] * chain_.sizes[last + 1];
    const auto better = best ? cheaper(here, *best) : std::optional(true);
    if (!better) return false;
    if (!*better) continue;
    best = here;
    splits_[{first, last}] = k;
  }
  costs_[{first, last}] = *best;
  return true;
}

}  // namespace tdsl::passes
