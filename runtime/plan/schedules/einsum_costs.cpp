#include "runtime/plan/schedules/einsum_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/plan/region/asked_layouts.h"
#include "runtime/plan/region/choices.h"
#include "runtime/plan/search/eliminate.h"

namespace tdsl::plan {

namespace {

/// Limit on the entries of all tables, and the number of vectors per site that are kept in any case.
constexpr double kMostEntries = 1 << 23;
constexpr double kFewestVectors = 64, kMostVectors = 1024;

/// Of more vectors per site only the cheapest are kept: tables over two sites are quadratic in their number.
std::size_t most_vectors(const Region& region) {
  const double tables = static_cast<double>(std::max<std::size_t>(region.ops.size(), 1));
  return static_cast<std::size_t>(std::clamp(std::sqrt(kMostEntries / tables), kFewestVectors, kMostVectors));
}

double product(const std::vector<Index>& numbers) {
  double n = 1;
  for (const Index x : numbers) n *= static_cast<double>(x);
  return n;
}

/// Elements of a block, a fraction where parts do not divide an extent.
double block(const std::vector<Index>& extents, const PartitionVector& parts) {
  return product(extents) / product(parts);
}

PartitionVector within(PartitionVector parts, const std::vector<Index>& extents) {
  for (std::size_t s = 0; s < parts.size(); ++s)
    parts[s] = std::min(parts[s], s < extents.size() ? std::max<Index>(extents[s], 1) : 1);
  return parts;
}

int slot_of_label(const Op& op, int label) {
  for (std::size_t d = 0; d < op.out.size(); ++d) {
    if (op.out[d].label == label) return static_cast<int>(d);
  }
  for (std::size_t k = 0; k < op.reduce.size(); ++k) {
    if (op.reduce[k].label == label) return static_cast<int>(op.shape.size() + k);
  }
  return -1;
}

/// Shapes of tensors by number.
using Shapes = std::unordered_map<TensorId, std::vector<Index>>;

EinsumExpression einsum_of(const Op& op, const Shapes& shapes) {
  EinsumExpression einsum;
  einsum.extents = op.shape;
  einsum.result = op.shape.size();
  for (const ReduceLabel& r : op.reduce) einsum.extents.push_back(op.labels[idx(r.label)].range.size());
  for (const Access& access : op.reads) {
    const auto shape = shapes.find(access.tensor);
    if (shape == shapes.end()) continue;
    EinsumExpression::Operand operand{access.tensor, shape->second, {}};
    for (const DimAccess& dim : access.dims) {
      const bool follows = !dim.whole && dim.terms.size() == 1;
      operand.slots.push_back(follows ? slot_of_label(op, dim.terms.front().label) : -1);
    }
    einsum.operands.push_back(std::move(operand));
  }
  return einsum;
}

/// Limits on the parts per slot. Prescribed tiles are not split, and parts of a reduce label have equally many.
std::vector<Index> most_parts(const Op& op, const PlanInputs& inputs) {
  std::vector<Index> most = most_shares(op, inputs, may_split(op));
  most.resize(op.shape.size() + op.reduce.size(), 1);
  return most;
}

bool can_run(const Op& op, const PlanInputs& inputs, const PartitionVector& parts) {
  const counting::CutSpace space = task_space(op, inputs);
  int split = 0;
  for (std::size_t s = op.shape.size(); s < parts.size(); ++s) {
    if (parts[s] == 1) continue;
    ++split;
    if (space.tilings[s] && space.tilings[s]->tiles() % parts[s] != 0) return false;
  }
  return split <= op.most_split_labels();
}

bool is_expression(const Op& op) {
  return !is_fixed(op) && !op.is_source() && op.base < 0 && op.op_class != OpClass::kLoop && !op.is_one_task();
}

void append_viable(const std::vector<Index>& most, Index calls, PartitionVector& parts,
                   std::vector<PartitionVector>& all) {
  const std::size_t s = parts.size();
  if (s == most.size()) {
    if (calls == 1) all.push_back(parts);
    return;
  }
  const auto largest = static_cast<std::uint64_t>(std::max<Index>(std::min(calls, most[s]), 1));
  for (auto d = static_cast<Index>(std::bit_floor(largest)); d >= 1; d /= 2) {
    parts.push_back(d);
    append_viable(most, calls / d, parts, all);
    parts.pop_back();
  }
}

}  // namespace

double EinsumExpression::calls(const PartitionVector& d) { return product(d); }

PartitionVector EinsumExpression::parts_of(const Operand& operand, const PartitionVector& d) {
  PartitionVector parts;
  for (const int slot : operand.slots) parts.push_back(slot < 0 ? 1 : d[idx(slot)]);
  return parts;
}

double EinsumExpression::join_cost(const PartitionVector& d) const {
  double elements = 0;
  for (const Operand& operand : operands) elements += block(operand.extents, parts_of(operand, d));
  return calls(d) * elements;
}

double EinsumExpression::aggregation_cost(const PartitionVector& d) const {
  const auto split = d.begin() + static_cast<std::ptrdiff_t>(result);
  const std::vector<Index> made(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(result));
  return (product({split, d.end()}) - 1) * product(made);
}

double repartition_cost(const std::vector<Index>& extents, const PartitionVector& producer,
                        const PartitionVector& consumer) {
  double all = 1, made = 1, wanted = 1, common = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const auto n = static_cast<double>(extents[d]);
    const double p = n / static_cast<double>(producer[d]), c = n / static_cast<double>(consumer[d]);
    all *= n;
    made *= p;
    wanted *= c;
    common *= std::min(p, c);
  }
  if (all == 0) return 0;
  return (wanted / common - 1) * (all / wanted) * (wanted + made) + (made != common ? made * all / wanted : 0);
}

std::vector<PartitionVector> viable_parts(const std::vector<Index>& most, Index calls) {
  std::vector<PartitionVector> all;
  PartitionVector parts;
  append_viable(most, calls, parts, all);
  return all;
}

EinsumCosts::EinsumCosts(const Region& region, const PlanInputs& inputs, Index processors) {
  add_sites(region, inputs, static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(processors))));
  add_costs(region);
}

void EinsumCosts::add_sites(const Region& region, const PlanInputs& inputs, Index processors) {
  Shapes shapes;
  std::map<int, std::size_t> largest;  // by site
  for (std::size_t k = 0; k < region.ops.size(); ++k) {
    const Op& op = region.ops[k].op;
    for (const TensorDesc& output : op.outputs) shapes[output.id] = output.shape;
    if (!is_expression(op)) continue;
    const auto [known, fresh] = largest.try_emplace(op.site, k);
    if (!fresh && flops_of(region.ops[known->second].op) < flops_of(op)) known->second = k;
  }
  const std::size_t most = most_vectors(region);
  for (const auto& [site, k] : largest) {
    const Op& op = region.ops[k].op;
    EinsumSite mine{site, k, einsum_of(op, shapes), most_parts(op, inputs), {}};
    for (Index calls = processors; mine.viable.empty() && calls > 1; calls /= 2) {
      mine.viable = viable_parts(mine.most, calls);
      std::erase_if(mine.viable, [&](const PartitionVector& parts) { return !can_run(op, inputs, parts); });
    }
    if (mine.viable.empty()) continue;  // a single element
    if (mine.viable.size() > most) {
      std::stable_sort(mine.viable.begin(), mine.viable.end(), [&](const PartitionVector& a, const PartitionVector& b) {
        return mine.einsum.cost(a) < mine.einsum.cost(b);
      });
      mine.viable.resize(most);
    }
    network_.add_variable(static_cast<int>(mine.viable.size()));
    sites_.push_back(std::move(mine));
  }
}

void EinsumCosts::add_costs(const Region& region) {
  std::map<int, int> variable_of;
  for (std::size_t v = 0; v < sites_.size(); ++v) variable_of.emplace(sites_[v].site, static_cast<int>(v));
  Shapes shapes;
  std::unordered_map<TensorId, int> maker;  // of the tensors of a run
  int run = 0;
  for (const RegionOp& recorded : region.ops) {
    const Op& op = recorded.op;
    if (std::exchange(run, recorded.run) != recorded.run) maker.clear();
    for (const TensorDesc& output : op.outputs) {
      shapes[output.id] = output.shape;
      maker.erase(output.id);
    }
    const auto variable = variable_of.find(op.site);
    if (variable == variable_of.end() || !is_expression(op)) continue;
    const int v = variable->second;
    const EinsumExpression einsum = einsum_of(op, shapes);
    std::vector<PartitionVector> vectors;
    for (const PartitionVector& parts : sites_[idx(v)].viable) vectors.push_back(within(parts, einsum.extents));
    std::vector<double> own;
    for (const PartitionVector& parts : vectors) own.push_back(recorded.weight * einsum.cost(parts));
    for (const EinsumExpression::Operand& operand : einsum.operands) {
      const auto made = maker.find(operand.tensor);
      if (made == maker.end()) continue;
      const int u = made->second;
      const auto moved = [&](const PartitionVector& by, const PartitionVector& to) {
        const PartitionVector producer =
            within({by.begin(), by.begin() + static_cast<std::ptrdiff_t>(operand.extents.size())}, operand.extents);
        return recorded.weight * repartition_cost(operand.extents, producer,
                                                  within(EinsumExpression::parts_of(operand, to), operand.extents));
      };
      if (u == v) {  // carried by a loop
        for (std::size_t s = 0; s < own.size(); ++s) own[s] += moved(sites_[idx(u)].viable[s], vectors[s]);
        continue;
      }
      std::vector<double> table;
      for (const PartitionVector& by : sites_[idx(u)].viable) {
        for (const PartitionVector& to : vectors) table.push_back(moved(by, to));
      }
      network_.add(u, v, std::move(table));
      arcs_.push_back({u, v});
    }
    network_.add(v, own);
    for (const TensorDesc& output : op.outputs) maker[output.id] = v;
  }
}

/// True if no two paths connect the same two sites.
bool EinsumCosts::is_forest() const {
  std::vector<int> root(sites_.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int v) {
    while (root[idx(v)] != v) v = root[idx(v)];
    return v;
  };
  return std::ranges::all_of(network_.edges(), [&](const Network::Edge& edge) {
    const int a = find(edge.first), b = find(edge.second);
    root[idx(a)] = b;
    return a != b;
  });
}

PartsChoice EinsumCosts::cheapest() const {
  PartsChoice choice;
  if (sites_.empty()) return choice;
  choice.exact = is_forest();
  Answer answer;
  if (choice.exact) {
    const EliminationOrder order = elimination_order(network_);
    choice.exact = order.fits;
    if (order.fits) answer = eliminate(network_, order);
  }
  if (!choice.exact) answer = linearise(network_, arcs_);
  choice.cost = answer.cost;
  for (std::size_t v = 0; v < sites_.size(); ++v) choice.parts.push_back(sites_[v].viable[idx(answer.values[v])]);
  return choice;
}

PartitionVector EinsumCosts::square(const EinsumSite& site, Index side) {
  PartitionVector parts;
  for (const Index most : site.most) parts.push_back(std::min(side, most));
  return parts;
}

std::string text_of(const PartitionVector& parts, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t s = 0; s < parts.size(); ++s) text += (s > 0 ? " " : "") + names[s] + ":" + std::to_string(parts[s]);
  return text;
}

}  // namespace tdsl::plan
