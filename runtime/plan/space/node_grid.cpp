#include "runtime/plan/space/node_grid.h"

#include <functional>

namespace tdsl::plan {

namespace {

double bytes_needed(const std::vector<Index>& factors, const std::vector<Index>& inner,
                    const std::vector<GridOperand>& operands) {
  double sum = 0;
  for (const GridOperand& operand : operands) {
    double bytes = operand.bytes;
    for (std::size_t k = 0; k < factors.size(); ++k) {
      if (operand.along[k]) bytes *= static_cast<double>(inner[k]) / static_cast<double>(factors[k]);
    }
    sum += bytes;
  }
  return sum;
}

}  // namespace

std::vector<Index> node_grid(const std::vector<Index>& factors, Index ranks_per_node,
                             const std::vector<GridOperand>& operands) {
  std::vector<Index> now(factors.size(), 1);
  std::vector<Index> best;
  double least = 0;
  // The last axes first, and the largest divisors first; ties go to the first.
  const std::function<void(std::size_t, Index)> choose = [&](std::size_t left, Index ranks) {
    if (left == 0) {
      if (ranks != 1) return;
      const double bytes = bytes_needed(factors, now, operands);
      if (!best.empty() && bytes >= least * (1 - 1e-9)) return;
      best = now;
      least = bytes;
      return;
    }
    const std::size_t axis = left - 1;
    for (Index g = factors[axis]; g >= 1; --g) {
      if (factors[axis] % g != 0 || ranks % g != 0) continue;
      now[axis] = g;
      choose(axis, ranks / g);
    }
  };
  choose(factors.size(), ranks_per_node);
  return best;
}

std::vector<std::vector<GridAxis>> grid_axes(const std::vector<Index>& factors, const std::vector<Index>& inner) {
  std::vector<std::vector<GridAxis>> axes(factors.size());
  Index near = 1;  // strides of ranks within a node, and of nodes
  Index far = 1;
  for (const Index g : inner) far *= g;
  for (std::size_t k = factors.size(); k-- > 0;) {
    const Index g = inner[k];
    const Index nodes = factors[k] / g;
    if (g > 1 && nodes > 1 && far == near * g) {
      axes[k] = {{factors[k], near}};
    } else {
      if (nodes > 1) axes[k].push_back({nodes, far});
      if (g > 1) axes[k].push_back({g, near});
    }
    near *= g;
    far *= nodes;
  }
  return axes;
}

}  // namespace tdsl::plan
