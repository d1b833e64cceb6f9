#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/algebra/check/infer.h"

namespace tdsl::ir::algebra {

Index most_pieces(const RelationType& operand, const Dims& keep) {
  const Layout& layout = *operand.layout;
  Dims telling;  // omitted dimensions whose values may distinguish sites
  if (!layout.loose_axes().empty()) {
    telling = without(operand.keys.arity(), keep);
  } else {
    std::ranges::copy_if(layout.cut_dims(), std::back_inserter(telling),
                         [&](int dim) { return !position_of(keep, dim).has_value(); });
  }
  const Index already = operand.pieces && !layout.loose_axes().empty() ? operand.pieces->most : 1;
  if (operand.keys.full()) return already * volume(values_at(operand.keys.frontier(), telling));
  std::map<Key, std::vector<Key>> seen;
  operand.keys.for_each([&](const Key& key) { seen[values_at(key, keep)].push_back(values_at(key, telling)); });
  Index most = 1;
  for (auto& [group, values] : seen) most = std::max(most, KeySet::of(std::move(values), telling.size()).count());
  return already * most;
}

namespace {

/// True if two cuts give tuples the same coordinate along an axis of both.
bool same_along(const Cut& a, const Cut& b, int axis) {
  const auto prefix = [&](const Cut& cut) {
    return std::vector<int>(cut.axes.begin(), std::ranges::find(cut.axes, axis));
  };
  return a.dims == b.dims && prefix(a) == prefix(b);
}

}  // namespace

Layout joined_layout(const Join& join, const RelationType& left, const RelationType& right,
                     std::vector<std::string>& problems) {
  const Dims right_at = right_positions(join, left.keys.arity(), right.keys.arity());
  std::vector<std::optional<int>> after(right_at.begin(), right_at.end());
  const Layout moved = right.layout->renamed(after);
  const Layout& stays = *left.layout;
  if (stays.axes() != moved.axes()) throw AlgebraError("the layouts are of different meshes");
  std::vector<Cut> cuts;
  std::vector<int> loose;
  bool meet = true;
  for (int axis = 0; axis < stays.axes(); ++axis) {
    if (stays.is_loose(axis) || moved.is_loose(axis)) {
      loose.push_back(axis);
      meet = meet && (stays.is_copied(axis) || moved.is_copied(axis));
      continue;
    }
    const Cut* a = stays.cut_of(axis);
    const Cut* b = moved.cut_of(axis);
    meet = meet && (a == nullptr || b == nullptr || same_along(*a, *b, axis));
    // If two cuts agree so far, the one by more axes covers both.
    const Cut* finer = a == nullptr || (b != nullptr && b->axes.size() > a->axes.size()) ? b : a;
    if (finer != nullptr && finer->axes.front() == axis) cuts.push_back(*finer);
  }
  // If the operands' cuts continue with different axes, no single cut describes both.
  for (int axis = 0; axis < stays.axes(); ++axis) {
    const auto has_axis = [&](const Cut& c) { return position_of(c.axes, axis).has_value(); };
    const bool cut = stays.cut_of(axis) != nullptr || moved.cut_of(axis) != nullptr;
    if (cut && !position_of(loose, axis) && std::ranges::none_of(cuts, has_axis)) loose.push_back(axis);
  }
  if (meet) return {stays.axes(), std::move(cuts), std::move(loose)};
  problems.push_back(fmt::format("joined blocks may lie on different sites: left {}, right {}",
                                 layout_text(*left.layout), layout_text(*right.layout)));
  return Layout::loose(stays.axes());
}

}  // namespace tdsl::ir::algebra
