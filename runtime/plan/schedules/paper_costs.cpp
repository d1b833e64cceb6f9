#include "runtime/plan/schedules/paper_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace tdsl::plan {

namespace {

bool subscripts(const EinsumExpression::Operand& operand, std::size_t slot) {
  return std::ranges::find(operand.slots, static_cast<int>(slot)) != operand.slots.end();
}

/// Al Daas et al., Theorem 3: the three ranges of p for dimensions a >= b >= c.
double bound_of_any_memory(const ProductSizes& product, double p) {
  std::array<double, 3> n{product.rows, product.inner, product.columns};
  std::sort(n.begin(), n.end(), std::greater<>());
  const auto [a, b, c] = n;
  if (c == 0) return 0;
  const double owned = (a * b + a * c + b * c) / p;
  double accessed = 3 * std::cbrt(a * b * c / p * (a * b * c / p));
  if (p <= a / b) {
    accessed = b * c + (a * b + a * c) / p;
  } else if (p <= a * b / (c * c)) {
    accessed = 2 * c * std::sqrt(a * b / p) + a * b / p;
  }
  return std::max(accessed - owned, 0.0);
}

/// Operations that may lie between two products of a Megatron pair.
bool is_map(const EinsumExpression& einsum) { return einsum.extents.size() == einsum.result; }

bool only_columns(const ProductSizes& parts) {
  return parts.columns > 1 && parts.columns == parts.result() * parts.inner;
}
bool only_inner(const ProductSizes& parts) { return parts.inner > 1 && parts.result() == 1; }

}  // namespace

std::optional<ProductSizes> product_sizes(const EinsumExpression& einsum, const std::vector<Index>& numbers) {
  if (einsum.operands.size() != 2 || einsum.result == einsum.extents.size()) return std::nullopt;
  ProductSizes sizes;
  for (std::size_t s = 0; s < einsum.extents.size(); ++s) {
    const bool left = subscripts(einsum.operands.front(), s), right = subscripts(einsum.operands.back(), s);
    const auto n = static_cast<double>(numbers[s]);
    const bool summed = s >= einsum.result;
    if (!left && !right) return std::nullopt;
    if (summed && !(left && right)) return std::nullopt;
    (summed ? sizes.inner : left && right ? sizes.batch : left ? sizes.rows : sizes.columns) *= n;
  }
  return sizes;
}

TraCosts tra_costs(const ProductSizes& product, Index sites) {
  const auto s = static_cast<double>(sites);
  return {s * product.right(), s * product.result(), s / 2 * (product.left() + product.right())};
}

double nums_bound(const ProductSizes& product, Index nodes, Index workers) {
  const auto k = static_cast<double>(nodes), r = static_cast<double>(workers);
  if (product.inner > std::max(product.rows, product.columns)) return std::log2(k) * product.result();
  if (product.inner < std::min(product.rows, product.columns))
    return 2 * (std::sqrt(k) - 1) * r * product.left() / std::sqrt(k * r);
  return ((k - 1) / std::sqrt(k) + std::log2(std::sqrt(k))) * r * product.result() / (k * r);
}

double received_bound(const ProductSizes& product, Index ranks, double memory) {
  const auto p = static_cast<double>(ranks);
  if (ranks <= 1) return 0;
  double bound = bound_of_any_memory(product, p / std::min(p, product.batch));
  const double calls = product.batch * product.rows * product.inner * product.columns;
  if (memory > 0) bound = std::max(bound, calls / (2 * std::sqrt(2.0) * p * std::sqrt(memory)) - memory);
  return bound;
}

std::string product_name(const ProductSizes& parts) {
  const bool rows = parts.rows > 1, columns = parts.columns > 1, inner = parts.inner > 1;
  const std::string batch = parts.batch > 1 ? "by batch" : "";
  std::string name;
  if (rows && columns && inner) {
    name = parts.rows == parts.inner && parts.columns == parts.inner
               ? "3-D"
               : "2.5-D, c = " + std::to_string(static_cast<Index>(parts.inner));
  } else if (inner) {
    name = rows || columns ? "2-D, inner and " + std::string(rows ? "rows" : "columns") : "cross-product";
  } else if (rows && columns) {
    name = "SUMMA";
  } else if (rows || columns) {
    name = rows ? "1-D by rows" : "1-D by columns";
  }
  if (name.empty()) return batch.empty() ? "on one rank" : batch;
  return batch.empty() ? name : batch + ", " + name;
}

PartitionVector parts_of(const Op& op, const Decision& decision, const Mesh& mesh) {
  std::optional<Layout> layout = parse_layout(decision.work, slot_names(op), mesh);
  if (!layout) return {};
  PartitionVector parts(op.shape.size() + op.reduce.size(), 1);
  layout->cut.resize(parts.size());
  const std::optional<BlockMap>& map = layout->map;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    if (map && s >= map->blocks.size()) continue;
    parts[s] = map && map->cyclic() ? map->over[s] : shares_along(mesh, *layout, s);
  }
  return parts;
}

std::map<int, std::string> product_names(const Region& region, const EinsumCosts& costs, const PlanValue& plan) {
  std::map<int, std::string> names;
  std::map<TensorId, std::set<int>> by_columns;  // sites of the products by columns behind a tensor
  for (const EinsumSite& site : costs.sites()) {
    const auto decided = plan.at.find(site.site);
    if (decided == plan.at.end()) continue;
    const Op& op = region.ops[site.op].op;
    const PartitionVector numbers = parts_of(op, decided->second, plan.mesh);
    if (numbers.empty()) continue;
    std::set<int> behind;
    if (is_map(site.einsum)) {
      for (const EinsumExpression::Operand& operand : site.einsum.operands) {
        const auto found = by_columns.find(operand.tensor);
        if (found != by_columns.end()) behind.insert(found->second.begin(), found->second.end());
      }
    }
    if (const std::optional<ProductSizes> parts = product_sizes(site.einsum, numbers)) {
      std::string name = product_name(*parts);
      const auto left = by_columns.find(site.einsum.operands.front().tensor);
      if (only_inner(*parts) && left != by_columns.end() && !left->second.empty()) {
        name = "Megatron";
        for (const int first : left->second) names[first] = name;
      }
      if (only_columns(*parts)) behind.insert(site.site);
      names.emplace(site.site, std::move(name));
    }
    for (const TensorDesc& output : op.outputs) by_columns[output.id] = behind;
  }
  return names;
}

}  // namespace tdsl::plan
