#include "runtime/plan/cost/rank_view.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/compressed.h"
#include "runtime/plan/row_counts.h"

namespace tdsl::plan::counting {

Index total(const Intervals& list) {
  Index n = 0;
  for (const Interval& i : list) n += i.size();
  return n;
}

void tidy(Intervals& list) {
  const auto before = [](const Interval& a, const Interval& b) { return a.lo != b.lo ? a.lo < b.lo : a.hi < b.hi; };
  std::erase_if(list, [](const Interval& i) { return i.empty(); });
  if (!std::is_sorted(list.begin(), list.end(), before))
    std::sort(list.begin(), list.end(), before);  // usually already sorted
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

Intervals merged(const Intervals& list) {
  Intervals result;
  for (const Interval& i : list) {
    if (!result.empty() && i.lo <= result.back().hi) {
      result.back().hi = std::max(result.back().hi, i.hi);
    } else {
      result.push_back(i);
    }
  }
  return result;
}

Index measure_inside(const Intervals& list, const Intervals& inside) {
  Index n = 0;
  for (const Interval& i : list) {
    auto first =
        std::lower_bound(inside.begin(), inside.end(), i.lo, [](const Interval& a, Index x) { return a.hi <= x; });
    for (; first != inside.end() && first->lo < i.hi; ++first) n += intersect(*first, i).size();
  }
  return n;
}

Intervals common(const Intervals& a, const Intervals& b) {
  Intervals result;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval x = intersect(a[i], b[j]);
    if (!x.empty()) result.push_back(x);
    (a[i].hi < b[j].hi) ? ++i : ++j;
  }
  return result;
}

bool equal_or_disjoint(const Intervals& a, const Intervals& b) {
  const auto apart = [](const Intervals& list) {
    return std::adjacent_find(list.begin(), list.end(), [](const Interval& x, const Interval& y) {
             return y.lo < x.hi || y.empty();
           }) == list.end();
  };
  if (b.empty() && apart(a)) return true;  // most lists are sorted
  Intervals both = a;
  both.insert(both.end(), b.begin(), b.end());
  tidy(both);
  for (std::size_t i = 1; i < both.size(); ++i) {
    if (both[i].lo < both[i - 1].hi) return false;
  }
  return true;
}

namespace {

/// The rank number relative to the grid's first rank.
Index in_grid(const Distribution& x, Index rank) { return ((rank - x.home()) % x.ranks() + x.ranks()) % x.ranks(); }

}  // namespace

bool has_part(const Distribution& x, Index rank) {
  if (!x.by_axes()) return true;
  Index rest = in_grid(x, rank);
  const auto take = [&](const GridAxis& axis) { rest -= axis.coordinate(in_grid(x, rank)) * axis.stride; };
  for (const GridDim& dim : x.grid_dims()) std::for_each(dim.axes.begin(), dim.axes.end(), take);
  std::for_each(x.repeat().begin(), x.repeat().end(), take);
  return rest == 0;
}

bool same_coordinates(const std::vector<GridAxis>& axes, Index a, Index b) {
  return std::ranges::all_of(axes, [&](const GridAxis& axis) { return axis.coordinate(a) == axis.coordinate(b); });
}

bool share_copy(const Distribution& x, Index rank, Index other) {
  return same_coordinates(x.repeat(), in_grid(x, rank), in_grid(x, other));
}

Intervals owned_intervals(const Distribution& x, Index rank, int d) {
  const Tiling& tiling = x.tiling(d);
  const Index tiles = tiling.tiles();
  Intervals list;
  const auto add = [&](Index from, Index to) {
    for (Index t = std::max<Index>(from, 0); t < std::min(to, tiles); ++t) list.push_back(tiling.tile(t));
  };
  if (x.by_table()) {  // not a product: tile_pieces.h
    add(0, tiles);
    return list;
  }
  if (x.columns()) {
    const Index p = x.ranks(), low = p / x.columns()->count, tall = p % x.columns()->count;
    const bool in_tall = rank < tall * (low + 1);
    const Index height = in_tall ? low + 1 : low;
    const Index row = in_tall ? rank % (low + 1) : (rank - tall * (low + 1)) % low;
    const Index first = rank - row;
    if (d == x.columns()->column_dim) {
      add(first * tiles / p, (first + height) * tiles / p);
    } else if (d == x.columns()->row_dim) {
      add(row * tiles / height, (row + 1) * tiles / height);
    } else {
      add(0, tiles);
    }
    return list;
  }
  const Index offset = in_grid(x, rank);
  if (!has_part(x, rank)) return list;
  const GridDim& dim = x.grid_dims()[idx(d)];
  Index size = 1, mine = 0;  // every `size`-th run of q tiles, from the `mine`-th
  for (const GridAxis& axis : dim.axes) {
    mine = mine * axis.size + axis.coordinate(offset);
    size *= axis.size;
  }
  list.reserve(static_cast<std::size_t>(tiles / size + 1));
  for (Index start = mine * dim.q; start < tiles; start += size * dim.q) add(start, start + dim.q);
  return list;
}

Intervals owned_elements(const Distribution& x, Index rank, int d) {
  Intervals list = owned_intervals(x, rank, d);
  tidy(list);
  return merged(list);
}

Interval preimage(const OutSubscript& s, Interval elements) {
  // Labels l with coefficient * l + constant in the interval, rounding inwards.
  const auto down = [](Index a, Index b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  const Index lo = elements.lo - s.constant;
  const Index hi = elements.hi - 1 - s.constant;
  const Index c = s.coefficient;
  if (c > 0) return {-down(-lo, c), down(hi, c) + 1};
  return {-down(hi, -c), down(-lo, -c) + 1};
}

namespace {

/// The view of tiles whose elements are a product of these lists, one per output dimension.
RankView view_of_product(const Op& op, const OpPlan& plan, std::vector<Intervals> owned_out) {
  RankView v{op, plan, std::move(owned_out), std::vector<Intervals>(op.labels.size()), {}, {}, true, true, 1, {}, {}};
  v.panels.assign(op.labels.size(), nullptr);
  std::vector<bool> bound(op.labels.size(), false);
  for (int d = 0; d < op.out_rank(); ++d) {
    const Intervals& owned = v.owned_out[idx(d)];
    const OutSubscript& s = op.out[idx(d)];
    const auto tiles = static_cast<Index>(owned.size());
    Index hit = 0;
    if (s.label == kPartLabel || s.label == kAnyLabel) {
      hit = tiles;
    } else if (s.label == kNoLabel) {
      for (const Interval& i : owned) hit += s.constant >= i.lo && s.constant < i.hi ? 1 : 0;
    } else {
      Intervals values;
      for (const Interval& i : owned) {
        const Interval x = intersect(preimage(s, i), op.labels[idx(s.label)].range);
        if (x.empty()) continue;
        ++hit;
        values.push_back(x);
      }
      tidy(values);
      Intervals& label = v.label[idx(s.label)];
      label = bound[idx(s.label)] ? common(merged(label), merged(values)) : values;
      if (bound[idx(s.label)]) v.exact = false;
      bound[idx(s.label)] = true;
    }
    v.hit.push_back(hit);
    v.busy.push_back(hit == tiles);
    v.works = v.works && hit > 0;
  }
  for (std::size_t k = 0; k < op.reduce.size(); ++k) {
    const int l = op.reduce[k].label;
    const Interval range = op.labels[idx(l)].range;
    Intervals tiles;
    const Index count = plan.reduce[k].tiles();
    const auto add = [&](Index t) {
      const Interval i = plan.reduce[k].tile(t);
      tiles.push_back({range.lo + i.lo, range.lo + i.hi});
    };
    if (op.reduce[k].part_dim < 0 && count > 1 && plan.reduce[k].ends() == nullptr) {
      tiles.push_back({range.lo, range.lo + plan.reduce[k].extent()});
      v.panels[idx(l)] = &plan.reduce[k];
    } else if (op.reduce[k].part_dim < 0) {
      for (Index t = 0; t < count; ++t) add(t);
    } else {
      const Index parts = op.shape[idx(op.reduce[k].part_dim)];
      const Index each = std::max<Index>((count + parts - 1) / std::max<Index>(parts, 1), 1);
      for (const Interval& part : v.owned_out[idx(op.reduce[k].part_dim)]) {
        for (Index t = part.lo * each; t < std::min(part.hi * each, count); ++t) add(t);
        if (part.lo * each >= count) v.busy[idx(op.reduce[k].part_dim)] = false;
      }
    }
    tidy(tiles);
    v.label[idx(l)] = std::move(tiles);
    bound[idx(l)] = true;
  }
  for (std::size_t l = 0; l < op.labels.size(); ++l) {
    if (!bound[l]) v.label[l] = {op.labels[l].range};
    tidy(v.label[l]);
    v.works = v.works && !v.label[l].empty();
  }
  return v;
}

}  // namespace

RankView view_of(const Op& op, const OpPlan& plan, Index rank) {
  std::vector<Intervals> owned;
  for (int d = 0; d < op.out_rank(); ++d) owned.push_back(owned_intervals(plan.space, rank, d));
  RankView v = view_of_product(op, plan, std::move(owned));
  for (int d = 0; d < op.out_rank(); ++d) {
    const Index edge = plan.super_block.empty() ? 0 : plan.super_block[idx(d)];
    const auto tiles = static_cast<Index>(v.owned_out[idx(d)].size());
    v.chunks.push_back(edge > 0 && tiles > 0 ? (tiles + edge - 1) / edge : 1);
    v.super_blocks *= v.chunks.back();
  }
  if (op.out_rank() == 0) v.works = v.works && has_part(plan.space, rank);
  return v;
}

RankView view_of_tile(const Op& op, const OpPlan& plan, const std::vector<Interval>& elements) {
  std::vector<Intervals> owned;
  for (const Interval& i : elements) owned.push_back({i});
  RankView v = view_of_product(op, plan, std::move(owned));
  v.chunks.assign(op.shape.size(), 1);
  v.exact = true;  // one tile is a product even on a diagonal
  return v;
}

Interval touched_by(const DimAccess& dim, const std::vector<Interval>& labels, Index extent) {
  const Interval inside{0, extent};
  if (dim.whole || dim.divisor < 1) return inside;
  Interval hull = dim.offset;
  for (const Affine::Term& term : dim.terms) {
    const Interval x = labels[idx(term.label)];
    const Index a = term.coefficient * x.lo;
    const Index b = term.coefficient * (x.hi - 1);
    hull = {hull.lo + std::min(a, b), hull.hi + std::max(a, b)};
  }
  if (!hull.empty() && dim.divisor > 1) hull = {hull.lo / dim.divisor, (hull.hi - 1) / dim.divisor + 1};
  return intersect(hull, inside);
}

Intervals touched(const RankView& v, const DimAccess& dim, Index extent) {
  const Interval inside{0, extent};
  if (dim.whole || dim.divisor < 1) return {inside};
  Intervals list{dim.offset};
  for (const Affine::Term& term : dim.terms) {
    Intervals next;
    for (const Interval& base : list) {
      for (Index k = 0; k < v.intervals(term.label); ++k) {
        const Interval x = v.interval(term.label, k);
        const Index a = term.coefficient * x.lo;
        const Index b = term.coefficient * (x.hi - 1);
        next.push_back({base.lo + std::min(a, b), base.hi + std::max(a, b)});
      }
    }
    list = std::move(next);
  }
  for (Interval& i : list) {
    if (!i.empty() && dim.divisor > 1) i = {i.lo / dim.divisor, (i.hi - 1) / dim.divisor + 1};
    i = intersect(i, inside);
  }
  tidy(list);
  return list;
}

Intervals whole_tiles(const Intervals& list, const Tiling& tiling) {
  Intervals tiles;
  Index next = 0;
  for (const Interval& i : list) {  // tidy: sorted by begin, not by end
    const Interval met = tiling.tiles_meeting(i);
    for (Index t = std::max(met.lo, next); t < met.hi; ++t) tiles.push_back(tiling.tile(t));
    next = std::max(next, met.hi);
  }
  return tiles;
}

std::vector<Index> longest_tiles(const Distribution& x) {
  std::vector<Index> extents;
  for (int d = 0; d < x.rank(); ++d) extents.push_back(x.tiling(d).longest());
  return extents;
}

Estimate bytes_of_blocks(const TensorDesc& tensor, const Distribution& where, const Estimate& blocks,
                         const Estimate& elements, double times) {
  if (!tensor.sized()) return tensor.block_bytes(blocks, elements, {}, times);
  double least = 1;
  for (int d = 0; d < where.rank(); ++d) least *= static_cast<double>(where.tiling(d).shortest());
  return tensor.block_bytes(blocks, elements, longest_tiles(where), times, least);
}

Estimate owned_bytes(const TensorDesc& tensor, const Distribution& where, Index rank) {
  if (!tensor.sized()) return Estimate::exactly(static_cast<double>(where.owned_elements(rank) * tensor.element.bytes));
  const auto blocks = Estimate::exactly(static_cast<double>(where.owned_tiles(rank)));
  if (tensor.rows != nullptr && where.by_axes() && has_whole_rows(tensor)) {
    if (blocks.hi == 0) return {};
    const Intervals rows = owned_intervals(where, rank, 0);
    Estimate stored, bytes;
    for (const Interval& together : merged(rows)) stored += stored_in_rows(tensor, together);
    std::vector<Index> extents = tensor.shape;
    for (const Interval& block : rows) {
      extents.front() = block.size();
      bytes += BlockFormula(tensor.storage, tensor.element.bytes, extents).one(stored_in_rows(tensor, block));
    }
    bytes.hi = std::min(
        bytes.hi, BlockFormula(tensor.storage, tensor.element.bytes, longest_tiles(where)).bytes(blocks, stored).hi);
    bytes.expected = std::min(bytes.expected, bytes.hi);
    return bytes;
  }
  return bytes_of_blocks(tensor, where, blocks, Estimate::exactly(static_cast<double>(where.owned_elements(rank))));
}

Intervals away_along(const Distribution& where, const Housing& housing, Index rank) {
  Intervals tiles = owned_intervals(where, rank, 0);
  tidy(tiles);
  const auto resident = std::min(tiles.size(), static_cast<std::size_t>(housing.resident_tiles));
  tiles.erase(tiles.begin(), tiles.begin() + static_cast<std::ptrdiff_t>(resident));
  return merged(tiles);
}

double away_bytes(const TensorDesc& tensor, const Distribution& where, const Housing& housing, Index rank) {
  if (housing.home == Home::kMemory || where.rank() == 0 || tensor.sized()) return 0;
  auto bytes = static_cast<double>(tensor.element.bytes);
  if (where.by_table()) return bytes * static_cast<double>(where.owned_elements(rank));
  bytes *= static_cast<double>(total(away_along(where, housing, rank)));
  for (int d = 1; d < where.rank(); ++d) bytes *= static_cast<double>(total(owned_elements(where, rank, d)));
  return bytes;
}

Estimate resident_bytes(const TensorDesc& tensor, const Distribution& where, const Housing& housing, Index rank) {
  Estimate bytes = owned_bytes(tensor, where, rank);
  if (const double away = away_bytes(tensor, where, housing, rank); away > 0) bytes += Estimate::exactly(-away);
  return bytes;
}

}  // namespace tdsl::plan::counting
