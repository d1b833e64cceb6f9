#include "codegen/relations/layouts.h"

#include <numeric>
#include <set>

namespace tdsl::codegen {

namespace {

std::vector<int> axes_of(const plan::Axes& axes) { return {axes.begin(), axes.end()}; }

}  // namespace

std::optional<ir::algebra::Layout> on_sites(const plan::Layout& layout, const std::vector<std::size_t>& slots,
                                            std::size_t axes) {
  if (layout.map || (layout.whole() && !layout.repeated && layout.home != 0)) return std::nullopt;
  std::vector<ir::algebra::Cut> cuts;
  std::set<int> used;
  for (const plan::Axes& cut : layout.cut) used.insert(cut.begin(), cut.end());
  std::vector<int> unused;
  for (int axis = 0; axis < static_cast<int>(axes); ++axis) {
    if (!used.contains(axis)) unused.push_back(axis);
  }
  for (std::size_t d = 0; d < slots.size(); ++d) {
    // Results of a single-task loop have their own dimensions, which are never cut.
    const bool cut = slots[d] < layout.cut.size() && !layout.cut[slots[d]].empty();
    if (cut) cuts.push_back({axes_of(layout.cut[slots[d]]), {static_cast<int>(d)}});
  }
  if (!layout.repeated && !unused.empty()) cuts.push_back({unused, {}});
  return ir::algebra::Layout(static_cast<int>(axes), std::move(cuts), {});
}

std::vector<std::size_t> first_slots(std::size_t count) {
  std::vector<std::size_t> slots(count);
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  return slots;
}

}  // namespace tdsl::codegen
