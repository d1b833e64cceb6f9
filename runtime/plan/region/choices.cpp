#include "runtime/plan/region/choices.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/placement.h"
#include "runtime/plan/space/tiles.h"

namespace tdsl::plan {

namespace {

/// Groups of sites whose results share a layout (union-find).
class Groups {
 public:
  explicit Groups(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t k) {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }
  void join(std::size_t a, std::size_t b) { parent_[std::max(find(a), find(b))] = std::min(find(a), find(b)); }

 private:
  std::vector<std::size_t> parent_;
};

Index result_elements(const Op& op) {
  double elements = 0;
  for (const TensorDesc& output : op.outputs) elements += static_cast<double>(output.elements());
  return static_cast<Index>(std::min(elements, 9e18));
}

/// True if the result is small enough to be replicated.
bool small_result(const Op& op) { return op.op_class != OpClass::kLoad && result_elements(op) <= kRedundantElements; }

/// True if the work is small enough to be done on every rank, or on one.
bool small_work(const Op& op) {
  return small_result(op) && simple_points_of(op) <= kRedundantPoints &&
         points_of(op) * op.flops_per_point <= kRedundantFlops;
}

/// Limit on the numbers of columns tried.
constexpr std::size_t kColumnCounts = 8;

/// Adds ranks in columns, for rank counts without a good grid.
void add_columns(std::vector<Layout>& layouts, const Op& op, const PlanInputs& inputs, std::size_t slots) {
  for (BlockMap& map : column_maps(op, inputs, kColumnCounts))
    layouts.push_back({std::vector<Axes>(slots), false, 0, std::move(map)});
}

/// Beyond this many layouts, axes of the mesh are merged.
constexpr std::size_t kMostLayouts = 512;

/// True if the last axis always directly follows the one before it, as if they were one.
bool keeps_together(const Layout& layout, std::int8_t axis) {
  return std::all_of(layout.cut.begin(), layout.cut.end(), [axis](const Axes& axes) {
    const auto at = std::find(axes.begin(), axes.end(), axis),
               before = std::find(axes.begin(), axes.end(), static_cast<std::int8_t>(axis - 1));
    return at == axes.end() ? before == axes.end() : at != axes.begin() && *(at - 1) == axis - 1;
  });
}

/// spread_layouts(), merging axes while there are too many.
std::vector<Layout> few_layouts(const Mesh& mesh, const std::vector<Index>& most) {
  std::vector<Layout> layouts = spread_layouts(mesh, most);
  for (std::size_t axis = mesh.axes.size(); --axis > 0 && layouts.size() > kMostLayouts;) {
    std::vector<Layout> together;
    std::copy_if(layouts.begin(), layouts.end(), std::back_inserter(together),
                 [&](const Layout& layout) { return keeps_together(layout, static_cast<std::int8_t>(axis)); });
    if (!together.empty()) layouts = std::move(together);
  }
  return layouts;
}

void add_whole(std::vector<Layout>& layouts, std::size_t slots, bool repeated, Index home) {
  const Layout layout{std::vector<Axes>(slots), repeated, home, std::nullopt};
  if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) layouts.push_back(layout);
}

/// Layout of an operation whose place the recorder fixes.
Layout fixed_layout(const Op& op) {
  return {std::vector<Axes>(op.shape.size()), op.replicated, std::max<Index>(op.home, 0), std::nullopt};
}

class ChoiceBuilder {
 public:
  ChoiceBuilder(const Region& region, const PlanInputs& inputs, const Mesh& mesh, const ChoiceLimits& limits)
      : region_(region), inputs_(inputs), mesh_(mesh), limits_(limits) {}

  Choices build() {
    collect_sites();
    Groups groups(choices_.sites.size());
    join_bases(groups);
    std::unordered_map<std::size_t, int> place_of;
    for (std::size_t s = 0; s < choices_.sites.size(); ++s) {
      SiteChoices& site = choices_.sites[s];
      const auto [known, fresh] = place_of.try_emplace(groups.find(s), static_cast<int>(choices_.places.size()));
      site.place = known->second;
      std::vector<Layout> layouts = places_of(site);
      if (fresh) {
        choices_.places.push_back({});
        for (Layout& layout : layouts) choices_.places.back().places.push_back({std::move(layout), std::nullopt});
      } else {
        restrict_place(choices_.places[idx(site.place)], layouts);
      }
      if (site.splits) site.works = works_of(site);
    }
    for (SiteChoices& site : choices_.sites) take_asked(site);
    if (limits_.copies) add_copies();
    return std::move(choices_);
  }

 private:
  void collect_sites() {
    std::unordered_map<int, std::size_t> number;
    for (std::size_t k = 0; k < region_.ops.size(); ++k) {
      const Op& op = region_.ops[k].op;
      if (op.outputs.empty()) continue;
      const auto [known, fresh] = number.try_emplace(op.site, choices_.sites.size());
      if (fresh) choices_.sites.push_back({op.site, k, {}, false, false, {}, -1});
      SiteChoices& site = choices_.sites[known->second];
      site.ops.push_back(k);
      if (points_of(op) > points_of(region_.ops[site.op].op)) site.op = k;
      site_of_[op.outputs.front().id] = known->second;
      for (const TensorDesc& output : op.outputs) site_of_[output.id] = known->second;
    }
    for (SiteChoices& site : choices_.sites) {
      const Op& op = region_.ops[site.op].op;
      site.fixed = op.home >= 0 || op.replicated;
      site.splits = may_split(op);
    }
  }

  void join_bases(Groups& groups) {
    for (const RegionOp& recorded : region_.ops) {
      if (recorded.op.base < 0 || recorded.op.outputs.empty()) continue;
      const auto base = site_of_.find(recorded.op.base);
      if (base == site_of_.end()) continue;
      groups.join(base->second, site_of_.at(recorded.op.outputs.front().id));
    }
  }

  std::vector<Layout> places_of(const SiteChoices& site) const {
    const Op& op = region_.ops[site.op].op;
    const std::size_t slots = op.shape.size();
    if (site.fixed) return {fixed_layout(op)};
    std::vector<Layout> layouts = few_layouts(mesh_, most_shares(op, inputs_, false));
    if (!layouts.front().whole()) add_columns(layouts, op, inputs_, slots);
    const bool one_task = op.op_class == OpClass::kLoop || op.is_one_task();
    if (site.splits ? small_result(op) : small_work(op) || (op.is_source() && small_result(op))) {
      if (may_repeat(op, inputs_)) add_whole(layouts, slots, true, 0);
      add_whole(layouts, slots, false, 0);
    }
    // Data read from a file has one owner per element; a small result may be loaded by a single rank.
    if (op.op_class == OpClass::kLoad && result_elements(op) <= kSmallOperand) add_whole(layouts, slots, false, 0);
    if (one_task && inputs_.ranks > 1) add_whole(layouts, slots, false, home_of(op, inputs_.ranks));
    return layouts;
  }

  /// Sites that share a place keep only the layouts that all of them allow.
  void restrict_place(PlaceChoices& place, const std::vector<Layout>& other) const {
    std::vector<Place> both;
    for (const Place& p : place.places) {
      if (std::find(other.begin(), other.end(), p.layout) != other.end()) both.push_back(p);
    }
    if (both.empty())
      both.push_back(
          {{std::vector<Axes>(place.places.front().layout.cut.size()), false, 0, std::nullopt}, std::nullopt});
    place.places = std::move(both);
  }

  /// Requested layouts replace all other choices.
  void take_asked(SiteChoices& site) {
    const auto asked = limits_.asked.find(site.site);
    if (asked == limits_.asked.end() || site.fixed) return;
    std::vector<Place>& places = choices_.places[idx(site.place)].places;
    const std::size_t slots = region_.ops[site.op].op.shape.size();
    const auto add = [&](Layout layout) {
      layout.cut.resize(slots);
      if (std::none_of(places.begin(), places.end(), [&](const Place& p) { return p.layout == layout; }))
        places.push_back({std::move(layout), std::nullopt});
    };
    const SiteLayouts& layouts = asked->second;
    if (!site.splits || !layouts.results.empty()) places.clear();
    for (const Layout& layout : layouts.results) add(layout);
    // Unless a reduction is split, its result is placed where the work is done.
    for (const Layout& layout : layouts.works) {
      const bool split = std::any_of(layout.cut.begin() + static_cast<std::ptrdiff_t>(slots), layout.cut.end(),
                                     [](const Axes& axes) { return !axes.empty(); });
      if (!split) add(layout);
    }
    if (site.splits) site.works = layouts.works;
  }

  /// A tensor that is read repeatedly, by several operations or by one that runs again, may have a copy for its
  /// readers.
  void add_copies() {
    std::vector<double> reads(choices_.places.size(), 0);
    std::vector<bool> whole(choices_.places.size(), false);  // bases and loop operands are read in place
    for (const RegionOp& recorded : region_.ops) {
      const bool effect = recorded.op.op_class == OpClass::kStore || recorded.op.op_class == OpClass::kCollect;
      std::vector<std::size_t> seen;
      for (const Access& access : recorded.op.reads) {
        const auto from = site_of_.find(access.tensor);
        if (effect || from == site_of_.end() || std::find(seen.begin(), seen.end(), from->second) != seen.end())
          continue;
        seen.push_back(from->second);
        const SiteChoices& site = choices_.sites[from->second];
        reads[idx(site.place)] += recorded.weight / region_.ops[site.op].weight;
        if (recorded.op.op_class == OpClass::kLoop) whole[idx(site.place)] = true;
      }
      if (const auto base = site_of_.find(recorded.op.base); base != site_of_.end())
        whole[idx(choices_.sites[base->second].place)] = true;
    }
    for (const SiteChoices& site : choices_.sites) {
      const Op& op = region_.ops[site.op].op;
      if (reads[idx(site.place)] < 1.5 || whole[idx(site.place)] || site.fixed || op.shape.empty() ||
          op.outputs.size() != 1)
        continue;
      add_copies_of(idx(site.place), op);
      whole[idx(site.place)] = true;  // once, if several sites share a place
    }
  }

  void add_copies_of(std::size_t number, const Op& op) {
    std::vector<Place>& places = choices_.places[number].places;
    const std::vector<Layout> copies = copy_layouts(mesh_, most_shares(op, inputs_, false));
    for (const int v : limits_.copied[number]) {
      const Layout layout = places[idx(v)].layout;
      if (layout.whole() || layout.map || places.size() + copies.size() > limits_.most_places) continue;
      for (const Layout& copy : copies) places.push_back({layout, copy});
    }
  }

  std::vector<Layout> works_of(const SiteChoices& site) const {
    const Op& op = region_.ops[site.op].op;
    const std::size_t slots = op.shape.size() + op.reduce.size();
    std::vector<Layout> layouts = few_layouts(mesh_, most_shares(op, inputs_, true));
    std::erase_if(layouts, [&](const Layout& layout) {
      int split = 0;
      for (std::size_t k = op.shape.size(); k < slots; ++k) split += layout.cut[k].empty() ? 0 : 1;
      return split > op.most_split_labels();
    });
    add_columns(layouts, op, inputs_, slots);
    if (small_work(op) || layouts.empty()) {
      if (may_repeat(op, inputs_)) add_whole(layouts, slots, true, 0);
      add_whole(layouts, slots, false, 0);
    }
    return layouts;
  }

  const Region& region_;
  const PlanInputs& inputs_;
  const Mesh& mesh_;
  const ChoiceLimits& limits_;
  Choices choices_;
  std::unordered_map<TensorId, std::size_t> site_of_;
};

}  // namespace

bool may_split(const Op& op) {
  const bool fixed = op.home >= 0 || op.replicated;
  return !fixed && op.combine != Combine::kNone && op.base < 0 && op.outputs.size() == 1 &&
         (!op.outputs.front().sized() || assembles(op)) && !op.reduce.empty() && op.most_split_labels() > 0;
}

counting::CutSpace task_space(const Op& op, const PlanInputs& inputs) {
  counting::CutSpace space;
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    space.extents.push_back(op.shape[d]);
    if (d < op.tile.size()) {
      space.tilings.emplace_back(Tiling::fixed(op.shape[d], op.tile[d]));
    } else if (!inputs.tile.empty()) {
      space.tilings.emplace_back(Tiling::fixed(op.shape[d], inputs.tile[std::min(d, inputs.tile.size() - 1)]));
    } else {
      space.tilings.emplace_back();
    }
  }
  for (const ReduceLabel& r : op.reduce) {
    const Index extent = op.labels[idx(r.label)].range.size();
    space.extents.push_back(extent);
    space.tilings.push_back(inputs.tile.empty() ? std::nullopt
                                                : std::optional(Tiling::fixed(extent, inputs.tile.front())));
  }
  return space;
}

bool may_repeat(const Op& op, const PlanInputs& inputs) {
  return inputs.alike || op.is_source() ||
         std::all_of(op.reads.begin(), op.reads.end(), [](const Access& access) { return access.dims.empty(); });
}

std::vector<Index> most_shares(const Op& op, const PlanInputs& inputs, bool reduced) {
  // A kernel may need whole dimensions that the sum of partial results does not.
  const bool combined = !reduced && may_split(op) && !assembles(op);
  const counting::CutSpace space = task_space(op, inputs);
  std::vector<Index> most;
  const auto shares = [&](std::size_t slot) {
    return space.tilings[slot] ? space.tilings[slot]->tiles() : space.extents[slot];
  };
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    const bool divisible = (op.out[d].label >= 0 || op.out[d].label == kAnyLabel) && (combined || !op.is_uncut(d));
    most.push_back(divisible ? std::max<Index>(shares(d), 1) : 1);
  }
  for (std::size_t k = 0; reduced && k < op.reduce.size(); ++k)
    most.push_back(k > 0 && assembles(op) ? 1 : std::max<Index>(shares(op.shape.size() + k), 1));
  return most;
}

Choices choices_of(const Region& region, const PlanInputs& inputs, const Mesh& mesh, const ChoiceLimits& limits) {
  return ChoiceBuilder(region, inputs, mesh, limits).build();
}

}  // namespace tdsl::plan
