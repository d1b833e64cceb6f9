#include "runtime/plan/search/network.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"

namespace tdsl::plan {

namespace {

/// Costs must be comparable: NaN is rejected.
void check_costs(const std::vector<double>& cost) {
  TDSL_CHECK(std::ranges::all_of(cost, [](double c) { return c >= 0; }), "a cost is negative or not a number");
}

void add_to(std::vector<double>& sum, const std::vector<double>& cost) {
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += cost[k];
}

std::vector<double> transposed(const std::vector<double>& table, std::size_t rows, std::size_t columns) {
  std::vector<double> result(table.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = table[i * columns + j];
  }
  return result;
}

}  // namespace

int Network::add_variable(int values) {
  TDSL_CHECK(values > 0 && values <= kMaxValues, "a variable has no values, or too many");
  own_.emplace_back(idx(values), 0.0);
  edges_of_.emplace_back();
  return variables() - 1;
}

void Network::add(int variable, const std::vector<double>& cost) {
  TDSL_CHECK(cost.size() == own(variable).size(), "a cost per value");
  check_costs(cost);
  add_to(own_[idx(variable)], cost);
}

void Network::add(int u, int v, std::vector<double> cost) {
  TDSL_CHECK(u != v && cost.size() == own(u).size() * own(v).size(), "a cost per pair of values");
  check_costs(cost);
  if (u > v) {
    cost = transposed(cost, own(u).size(), own(v).size());
    std::swap(u, v);
  }
  const int edge = edge_between(u, v);
  if (edge >= 0) {
    add_to(edges_[idx(edge)].cost, cost);
    return;
  }
  const int number = static_cast<int>(edges_.size());
  edges_.push_back({u, v, std::move(cost)});
  edges_of_[idx(u)].push_back(number);
  edges_of_[idx(v)].push_back(number);
}

void Network::set_own(int variable, std::vector<double> cost) {
  TDSL_CHECK(cost.size() == own(variable).size(), "a cost per value");
  check_costs(cost);
  own_[idx(variable)] = std::move(cost);
}

int Network::edge_between(int u, int v) const {
  const int fewer = edges_of(u).size() <= edges_of(v).size() ? u : v;
  for (const int e : edges_of(fewer)) {
    const Edge& edge = edges_[idx(e)];
    if ((edge.first == u && edge.second == v) || (edge.first == v && edge.second == u)) return e;
  }
  return -1;
}

Network::View Network::view(int edge, int variable) const {
  const Edge& e = edges_[idx(edge)];
  const int columns = values(e.second);
  if (variable == e.first) return {e.second, columns, e.cost.data(), columns, 1};
  return {e.first, values(e.first), e.cost.data(), 1, columns};
}

std::vector<double> Network::costs_beside(int variable, const Assignment& x) const {
  std::vector<double> cost = own(variable);
  for (const int e : edges_of(variable)) {
    const View beside = view(e, variable);
    for (std::size_t s = 0; s < cost.size(); ++s) cost[s] += beside.at(static_cast<int>(s), x[idx(beside.other)]);
  }
  return cost;
}

Index Network::entries() const {
  std::size_t entries = 0;
  for (const std::vector<double>& own : own_) entries += own.size();
  for (const Edge& edge : edges_) entries += edge.cost.size();
  return static_cast<Index>(entries);
}

double Network::cost(const Assignment& x) const {
  double sum = 0;
  for (int v = 0; v < variables(); ++v) sum += own(v)[idx(x[idx(v)])];
  for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
    const Edge& edge = edges_[idx(e)];
    sum += view(e, edge.first).at(x[idx(edge.first)], x[idx(edge.second)]);
  }
  return sum;
}

Network Network::restricted(const std::vector<std::vector<int>>& kept) const {
  Network result;
  for (int v = 0; v < variables(); ++v) {
    std::vector<double> costs;
    for (const int value : kept[idx(v)]) costs.push_back(own(v)[idx(value)]);
    result.add_variable(static_cast<int>(costs.size()));
    result.own_.back() = std::move(costs);
  }
  result.edges_of_ = edges_of_;
  result.edges_.reserve(edges_.size());
  for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
    const Edge& edge = edges_[idx(e)];
    const View from = view(e, edge.first);
    Edge smaller{edge.first, edge.second, {}};
    smaller.cost.reserve(kept[idx(edge.first)].size() * kept[idx(edge.second)].size());
    for (const int i : kept[idx(edge.first)]) {
      for (const int j : kept[idx(edge.second)]) smaller.cost.push_back(from.at(i, j));
    }
    result.edges_.push_back(std::move(smaller));
  }
  return result;
}

}  // namespace tdsl::plan
