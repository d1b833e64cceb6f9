#include "runtime/plan/cost/operand_needs.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "runtime/plan/cost/panel_cuts.h"
#include "runtime/plan/cost/products.h"
#include "runtime/plan/cost/tile_pieces.h"

// Note [Counting in closed form] In every dimension, the elements a rank needs of an operand form a list of intervals
// (one per owned tile of the label that indexes the dimension), and so do the elements it owns. The needed and owned
// sets are products over dimensions, so volumes are products of measures, and the received volume is |needed| - |needed
// and owned|.

namespace tdsl::plan::counting {

namespace {

/// True if the label alone subscripts the dimension, and its values have no element in common.
bool only(const DimAccess& dim, int label) {
  return !dim.whole && dim.divisor == 1 && dim.terms.size() == 1 && dim.terms[0].label == label &&
         dim.offset.size() <= std::max<Index>(1, std::abs(dim.terms[0].coefficient));
}

}  // namespace

bool kept_over_panels(const Op& op, const OpPlan& plan, const Access& access, const TensorLookup& tensors) {
  const bool sized = tensors(access.tensor).desc.sized();  // panels may share a block
  for (std::size_t k = 0; k < op.reduce.size(); ++k) {
    if (panel_count(op, plan, k) <= 1) continue;
    bool distinguished = false;
    for (std::size_t d = 0; d < access.dims.size() && !sized; ++d) {
      bool alike = only(access.dims[d], op.reduce[k].label);
      for (const Access& other : op.reads)
        alike = alike && (other.tensor != access.tensor || other.dims[d] == access.dims[d]);
      distinguished = distinguished || alike;
    }
    if (!distinguished) return true;
  }
  return false;
}

namespace {

/// Super-blocks that fetch the access again: those along output dimensions whose label the access does not use.
Index repeats(const RankView& v, const Access& access) {
  Index n = 1;
  for (int d = 0; d < v.op.out_rank(); ++d) {
    bool mentioned = false;
    const int l = v.op.out[idx(d)].label;
    for (const DimAccess& dim : access.dims) {
      for (const Affine::Term& term : dim.terms) mentioned = mentioned || (!dim.whole && term.label == l);
    }
    for (const ReduceLabel& r : v.op.reduce) {
      for (const DimAccess& dim : access.dims) {
        for (const Affine::Term& term : dim.terms)
          mentioned = mentioned || (!dim.whole && r.part_dim == d && term.label == r.label);
      }
    }
    if (!mentioned) n *= v.chunks[idx(d)];
  }
  return n;
}

/// Blocks of the operand's dimension that the intervals are cut into.
Index cut_count(const Intervals& list, const Tiling& tiling) {
  Index n = 0;
  if (tiling.tiles() <= 1) {
    for (const Interval& i : list) n += intersect(i, {0, tiling.extent()}).empty() ? 0 : 1;
    return n;
  }
  Interval tile;  // the last tile found: the next interval often falls into it too
  for (const Interval& i : list) {
    if (!i.empty() && i.lo >= tile.lo && i.hi <= tile.hi) {
      ++n;
      continue;
    }
    const Interval met = tiling.tiles_meeting(i);
    n += met.size();
    if (!met.empty()) tile = tiling.tile(met.hi - 1);
  }
  return n;
}

/// Upper bound of the elements of one operand dimension held at once; whole tiles if `whole` is given.
double longest_need(const RankView& v, const DimAccess& dim, bool kept, const Tiling* whole) {
  double least = 9e18;
  if (dim.whole || dim.divisor != 1 || dim.terms.size() != 1) return least;
  const Affine::Term& term = dim.terms[0];
  const auto box = [&](Index longest) {
    const Index touched = std::abs(term.coefficient) * (longest - 1) + dim.offset.size();
    if (whole == nullptr || whole->tiles() == 0) return static_cast<double>(touched);
    if (whole->ends() != nullptr) return static_cast<double>(std::min(whole->extent(), touched + 2 * whole->longest()));
    const Index shortest = std::max<Index>(1, whole->extent() / whole->tiles() / 2);
    return static_cast<double>(std::min(whole->tiles(), ceil_div(touched, shortest) + 1) * whole->longest());
  };
  for (std::size_t k = 0; k < v.op.reduce.size(); ++k) {
    if (kept || term.label != v.op.reduce[k].label) continue;
    const int part_dim = v.op.reduce[k].part_dim;
    const auto parts = part_dim < 0 ? 1.0 : static_cast<double>(v.owned_out[idx(part_dim)].size());
    least = std::min(least, parts * box(v.plan.reduce[k].longest()));
  }
  for (int o = 0; o < v.op.out_rank(); ++o) {
    const Index edge = v.plan.super_block.empty() ? 0 : v.plan.super_block[idx(o)];
    if (edge > 0 && term.label == v.op.out[idx(o)].label)
      least = std::min(least, static_cast<double>(edge) * box(v.plan.space.tiling(o).longest()));
  }
  return least;
}

/// The parts of the intervals that lie inside the disjoint sorted ones.
Intervals parts_inside(const Intervals& list, const Intervals& inside) {
  Intervals parts;
  for (const Interval& i : list) {
    auto first =
        std::lower_bound(inside.begin(), inside.end(), i.lo, [](const Interval& a, Index x) { return a.hi <= x; });
    for (; first != inside.end() && first->lo < i.hi; ++first) {
      if (!intersect(i, *first).empty()) parts.push_back(intersect(i, *first));
    }
  }
  return parts;
}

/// The panels of a dimension that all accesses to the tensor subscript alike; nothing if tiles are listed one by one.
std::optional<PanelCuts> panels_along(const RankView& v, const Access& access, int d, const PlacedTensor& tensor) {
  const bool alike = std::ranges::all_of(v.op.reads, [&](const Access& other) {
    return other.tensor != access.tensor || other.dims[idx(d)] == access.dims[idx(d)];
  });
  if (!alike || tensor.distribution.by_table()) return std::nullopt;
  return PanelCuts::of(v, access.dims[idx(d)], tensor.desc.shape[idx(d)]);
}

}  // namespace

Need need_of(const RankView& v, const Access& access, const TensorLookup& tensors, Index rank) {
  const PlacedTensor& tensor = tensors(access.tensor);
  const bool sized = tensor.desc.sized();
  Need need;
  // The boxes of a kept operand are those of a single super-block.
  const bool stays = v.plan.keeps(v.op, access.tensor);
  const Index chunks = stays ? 1 : v.super_blocks;
  const Distribution& where = tensor.distribution;
  const bool replicated = where.everywhere();
  std::vector<int> label_uses(v.op.labels.size(), 0);
  double union_all = 1, union_own = 1, sum_all = 1, sum_own = 1, pieces_all = 1, pieces_own = 1, panel = 1;
  const bool by_table = where.by_table();
  need.exact = v.exact;
  const bool has_away = tensor.housing.home != Home::kMemory && where.rank() > 0;
  double union_away = has_away ? 1 : 0, sum_away = union_away;
  bool disjoint = true;
  const bool kept = kept_over_panels(v.op, v.plan, access, tensors);
  if (where.rank() == 0 && !has_part(where, rank)) union_own = sum_own = pieces_own = 0;
  for (int d = 0; d < where.rank(); ++d) {
    const DimAccess& dim = access.dims[idx(d)];
    const std::optional<PanelCuts> panels = panels_along(v, access, d, tensor);
    Intervals list = panels ? Intervals{panels->elements()} : touched(v, dim, tensor.desc.shape[idx(d)]);
    if (sized) list = whole_tiles(list, where.tiling(d));
    for (const Affine::Term& term : dim.terms) {
      if (++label_uses[idx(term.label)] > 1) need.exact = false;
    }
    const Intervals own = owned_elements(where, rank, d);
    const Intervals together = merged(list);
    union_all *= static_cast<double>(total(together));
    union_own *= static_cast<double>(measure_inside(together, own));
    sum_all *= static_cast<double>(total(list));
    sum_own *= static_cast<double>(measure_inside(list, own));
    if (has_away) {
      const Intervals away = d == 0 && !by_table ? away_along(where, tensor.housing, rank) : own;
      union_away *= static_cast<double>(measure_inside(together, away));
      sum_away *= static_cast<double>(measure_inside(list, away));
    }
    const auto pieces_of = [&](const Intervals& some) {
      if (!panels || sized) return static_cast<double>(cut_count(some, where.tiling(d)));
      Index n = 0;
      for (const Interval& i : some) n += panels->pieces(i, where.tiling(d));
      return static_cast<double>(n);
    };
    pieces_all *= pieces_of(list);
    pieces_own *= pieces_of(parts_inside(list, own));
    disjoint = disjoint && equal_or_disjoint(list, {});
    // Tiles of different super-blocks may need exactly the same interval: i + a for (i, a) = (2, 1) and (3, 0). The
    // same holds for whole blocks and for neighbourhoods clipped at the border: i + {0, 1} for i = -1 and 0 is one
    // element.
    const bool cut_alike =
        dim.offset.size() > 1 && dim.terms.size() == 1 && std::ssize(list) < v.intervals(dim.terms.front().label);
    if (chunks > 1 && (dim.terms.size() > 1 || dim.divisor > 1 || sized || cut_alike)) disjoint = false;
    const auto all = static_cast<double>(total(list));
    panel *= stays ? all : std::min(all, longest_need(v, dim, kept, sized ? &where.tiling(d) : nullptr));
    need.lists.push_back(std::move(list));
  }
  need.read = static_cast<double>(repeats(v, access)) * union_all;
  const double again = stays ? 1 : static_cast<double>(repeats(v, access));
  const auto blocks = static_cast<double>(chunks);
  for (int d = 0; d < v.op.out_rank(); ++d)
    need.exact = need.exact && (stays || v.chunks[idx(d)] == 1 || v.busy[idx(d)]);
  if (by_table) {
    std::vector<Intervals> unions;
    for (const Intervals& list : need.lists) unions.push_back(merged(list));
    union_own = measure_owned(where, rank, unions);
    sum_own = disjoint ? union_own : 0;
    pieces_own = disjoint ? count_owned(where, rank, need.lists) : 0;
    if (has_away) union_away = union_own, sum_away = disjoint ? union_away : sum_all;
  }
  if (has_away) need.loaded = {need.exact ? again * union_away : 0, disjoint ? again * sum_away : blocks * sum_away};
  if (replicated) {
    need.per_panel = std::min(panel, sum_away);
    return need;
  }
  need.received = {again * (union_all - union_own), again * (sum_all - sum_own)};
  need.pieces = {again * (pieces_all - pieces_own), again * (pieces_all - pieces_own)};
  if (!disjoint) {
    // Overlapping boxes: super-blocks fetch the overlap again, and equal parts of different boxes are one piece.
    need.received.hi = blocks * (sum_all - sum_own);
    need.pieces = {0, blocks * pieces_all};
  }
  need.per_panel = std::min(panel, sum_all - sum_own + sum_away);
  if (!need.exact) need.received.lo = 0, need.pieces.lo = 0;
  return need;
}

namespace {

/// Elements that two accesses to one tensor share, as a product of intervals.
std::vector<Intervals> shared_lists(const Need& a, const Need& b) {
  std::vector<Intervals> shared;
  for (std::size_t d = 0; d < a.lists.size(); ++d) shared.push_back(common(merged(a.lists[d]), merged(b.lists[d])));
  return shared;
}

/// Elements that two accesses to one tensor share and load from storage once.
double shared_away(const Need& a, const Need& b, const PlacedTensor& tensor, Index rank) {
  const Distribution& where = tensor.distribution;
  const std::vector<Intervals> shared = shared_lists(a, b);
  return volume_over(shared.size(), [&](std::size_t d) {
    return measure_inside(
        shared[d], d == 0 ? away_along(where, tensor.housing, rank) : owned_elements(where, rank, static_cast<int>(d)));
  });
}

}  // namespace

bool are_equal_or_disjoint(const Need& a, const Need& b) {
  bool all = true;
  for (std::size_t d = 0; all && d < a.lists.size(); ++d) all = equal_or_disjoint(a.lists[d], b.lists[d]);
  return all;
}

double shared_elements(const Need& a, const Need& b, const PlacedTensor& tensor, Index rank) {
  const Distribution& where = tensor.distribution;
  const std::vector<Intervals> shared = shared_lists(a, b);
  const double own =
      where.by_table() ? measure_owned(where, rank, shared) : volume_over(shared.size(), [&](std::size_t d) {
        return measure_inside(shared[d], owned_elements(where, rank, static_cast<int>(d)));
      });
  return volume_over(shared.size(), [&](std::size_t d) { return total(shared[d]); }) - own;
}

Range loaded_elements(const std::vector<Need>& needs, const RankView& v, const PlacedTensor& tensor, Index rank) {
  Range loaded;
  if (tensor.housing.home == Home::kMemory) return loaded;
  for (const Need& need : needs) loaded += need.loaded;
  if (needs.size() == 1 || loaded.hi == 0) return loaded;
  if (needs.size() == 2 && v.super_blocks == 1 && v.exact && !tensor.distribution.by_table() &&
      are_equal_or_disjoint(needs[0], needs[1])) {
    const double once = shared_away(needs[0], needs[1], tensor, rank);
    return {std::max(0.0, loaded.lo - once), loaded.hi - once};
  }
  loaded.lo = 0;
  for (const Need& need : needs) loaded.lo = std::max(loaded.lo, need.loaded.lo);
  return loaded;
}

}  // namespace tdsl::plan::counting
