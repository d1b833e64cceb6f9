#include "runtime/plan/steps/steps.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <span>

#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/steps/task_arithmetic.h"
#include "runtime/plan/steps/tree.h"

namespace tdsl::plan {

using arithmetic::chunk_count;
using arithmetic::scale;
using arithmetic::solve;
using parts::mentions;

const char* name_of(OpClass c) {
  switch (c) {
    case OpClass::kMap: return "map";
    case OpClass::kReduce: return "reduce";
    case OpClass::kContraction: return "contraction";
    case OpClass::kSource: return "source";
    case OpClass::kLoad: return "load";
    case OpClass::kStore: return "store";
    case OpClass::kCollect: return "collect";
    case OpClass::kControl: return "control";
    case OpClass::kCombine: return "combine";
    case OpClass::kCopy: return "copy";
    case OpClass::kLoop: return "loop";
    case OpClass::kSave: return "save";
    case OpClass::kRestore: return "restore";
  }
  return "?";
}

const char* name_of(Home home) {
  switch (home) {
    case Home::kMemory: return "memory";
    case Home::kDisk: return "disk";
    case Home::kFile: return "file";
  }
  return "?";
}

Index PlacedTensor::first_away(Index rank) const {
  const Index all = distribution.rank() == 0 ? 0 : distribution.tiling(0).tiles();
  if (housing.home == Home::kMemory || distribution.rank() == 0) return all;
  if (housing.resident_tiles == 0) return 0;
  const std::vector<Index> owned = distribution.owned_along(rank, 0);
  const auto resident = static_cast<std::size_t>(housing.resident_tiles);
  return resident < owned.size() ? owned[resident] : all;
}

Distribution distribution_of(const Op& op, const OpPlan& plan, const TensorDesc& output) {
  if (op.op_class != OpClass::kLoop || output.shape.empty()) return plan.space;
  std::vector<Tiling> once;
  for (Index extent : output.shape) once.push_back(Tiling::near_equal(extent, 1));
  const Index ranks = plan.space.ranks();
  const std::size_t dims = once.size();
  return Distribution::grid(ranks, std::move(once), std::vector<GridDim>(dims), plan.space.home(), plan.space.repeat());
}

std::size_t PieceHash::operator()(const Piece& p) const noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(p.tensor) * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(p.block);
  const auto mix = [&](Index x) {
    h ^= static_cast<std::uint64_t>(x) + 0x9E3779B97F4A7C15ULL + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdULL;
  };
  for (int d = 0; d < p.box.rank; ++d) {
    mix(p.box[d].lo);
    mix(p.box[d].hi);
  }
  return static_cast<std::size_t>(h ^ (h >> 32));
}

TaskSpace::TaskSpace(const Op& op, const OpPlan& plan, const TensorLookup& tensors)
    : op_(op), plan_(plan), tensors_(tensors) {
  for (std::size_t k = 0; k < op.reduce.size(); ++k) panels_ *= panels_of(k);
}

Index TaskSpace::panels_of(std::size_t reduce) const {
  const Index tiles = std::max<Index>(plan_.reduce[reduce].tiles(), 1);
  const int part_dim = op_.reduce[reduce].part_dim;
  return part_dim < 0 ? tiles : std::max<Index>(ceil_div(tiles, op_.shape[idx(part_dim)]), 1);
}

Interval TaskSpace::reduce_interval(std::size_t reduce, Index tile) const {
  const Interval range = op_.labels[idx(op_.reduce[reduce].label)].range;
  // The last part of a label may have fewer tiles than the others.
  if (range.empty() || tile >= plan_.reduce[reduce].tiles()) return {range.lo, range.lo};
  const Interval inside = plan_.reduce[reduce].tile(tile);
  return {range.lo + inside.lo, range.lo + inside.hi};
}

Coord TaskSpace::panel(const Coord& tile, Index number) const {
  Coord p;
  p.rank = static_cast<int>(op_.reduce.size());
  for (int k = p.rank - 1; k >= 0; --k) {
    const Index count = panels_of(idx(k));
    p[k] = number % count;
    number /= count;
    const int part_dim = op_.reduce[idx(k)].part_dim;
    if (part_dim >= 0) p[k] += count * tile[part_dim];
  }
  return p;
}

// Note [Own panels first] In a product on a 2 x 2 grid, rank (1, 1) owns the second half of the summed range. If all
// ranks began at the first panel, it would wait for both operands' panels at once and only then proceed at full speed.
// So every rank begins at the panel with the largest own share, and remote panels arrive meanwhile. The order of a
// tile's panels, and with it every bit, is still a function of the plan. Not applied if a box may be forwarded in a
// tree: relays need the same order of steps on all ranks. A panel is a small part of the received data then, and the
// wait for the first is short.
Index TaskSpace::first_panel(Index rank) const {
  if (op_.op_class != OpClass::kContraction || plan_.packs() || panels_ == 1 || op_.reduce.size() != 1 ||
      op_.reduce[0].part_dim >= 0)
    return 0;
  if (!plan_.space.by_axes()) return 0;
  const int label = op_.reduce[0].label;
  const Index least_tree = plan::least_tree(plan_.ranks_per_node);
  std::vector<Index> remote(static_cast<std::size_t>(panels_), 0);  // elements, along the dimension of the label
  for (const Access& access : op_.reads) {
    Index sharing = 1;
    for (int d = 0; d < op_.out_rank(); ++d) {
      const int out = op_.out[idx(d)].label;
      const bool mentioned =
          std::ranges::any_of(access.dims, [out](const DimAccess& dim) { return mentions(dim, out); });
      if (!mentioned) sharing *= plan_.space.grid_dims()[idx(d)].size();
    }
    if (sharing >= least_tree) return 0;
    // In A @ A a box is requested through both accesses.
    const auto is_same = [&](const Access& other) { return other.tensor == access.tensor; };
    if (std::ranges::count_if(op_.reads, is_same) > 1 && plan_.space.ranks() > least_tree) return 0;
    if (tensors_(access.tensor).desc.sized()) return 0;  // its blocks are kept for later panels
    const Distribution& where = tensors_(access.tensor).distribution;
    for (int d = 0; d < where.rank(); ++d) {
      const DimAccess& dim = access.dims[idx(d)];
      if (dim.whole || dim.divisor != 1 || !mentions(dim, label) || !where.by_axes()) continue;
      for (Index panel = 0; panel < panels_; ++panel)
        remote[static_cast<std::size_t>(panel)] += reduce_interval(0, panel).size();
      for (const Index tile : where.owned_along(rank, d)) {
        const Interval mine = where.tiling(d).tile(tile);
        const Index from = op_.labels[idx(label)].range.lo;
        const Interval panels = plan_.reduce[0].tiles_meeting({mine.lo - from, mine.hi - from});
        for (Index panel = panels.lo; panel < panels.hi; ++panel) {
          remote[static_cast<std::size_t>(panel)] -= intersect(mine, reduce_interval(0, panel)).size();
        }
      }
    }
  }
  return std::min_element(remote.begin(), remote.end()) - remote.begin();
}

Interval TaskSpace::label_interval_of(int dim, Interval elements) const {
  const OutSubscript& s = op_.out[idx(dim)];
  return solve(s.coefficient, {elements.lo - s.constant, elements.hi - s.constant});
}

std::vector<Interval> TaskSpace::label_intervals(const Coord& tile, const Coord& panel) const {
  std::vector<Interval> labels;
  label_intervals(tile, panel, labels);
  return labels;
}

void TaskSpace::label_intervals(const Coord& tile, const Coord& panel, std::vector<Interval>& labels) const {
  labels.clear();
  labels.reserve(op_.labels.size());
  for (const LabelDesc& label : op_.labels) labels.push_back(label.range);
  for (int d = 0; d < op_.out_rank(); ++d) {
    const int l = op_.out[idx(d)].label;
    if (l >= 0) labels[idx(l)] = intersect(labels[idx(l)], label_interval_of(d, plan_.space.tiling(d).tile(tile[d])));
  }
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    Interval& label = labels[idx(op_.reduce[k].label)];
    label = intersect(label, reduce_interval(k, panel[static_cast<int>(k)]));
  }
}

bool TaskSpace::hit(const Coord& tile) const {
  for (int d = 0; d < op_.out_rank(); ++d) {
    const OutSubscript& s = op_.out[idx(d)];
    const Interval elements = plan_.space.tiling(d).tile(tile[d]);
    if (s.label == kNoLabel && (s.constant < elements.lo || s.constant >= elements.hi)) return false;
    if (s.label < 0) continue;
    // A label written in several dimensions (a diagonal) must satisfy all of them.
    Interval values = intersect(op_.labels[idx(s.label)].range, label_interval_of(d, elements));
    for (int other = 0; other < d; ++other) {
      if (op_.out[idx(other)].label != s.label) continue;
      values = intersect(values, label_interval_of(other, plan_.space.tiling(other).tile(tile[other])));
    }
    if (values.empty()) return false;
  }
  return true;
}

Index TaskSpace::points(std::span<const Interval> labels) const {
  Index n = 1;
  for (std::size_t l = 0; l < labels.size(); ++l)
    n = product(n, op_.labels[l].from_data ? std::min<Index>(labels[l].size(), 1) : labels[l].size());
  return n;
}

Box TaskSpace::access_box(const Access& access, const std::vector<Interval>& labels) const {
  const std::vector<Index>& shape = tensors_(access.tensor).desc.shape;
  Box whole;
  whole.rank = static_cast<int>(shape.size());
  for (int d = 0; d < whole.rank; ++d) whole[d] = {0, shape[idx(d)]};
  return touched_box(access, labels, whole);
}

Box touched_box(const Access& access, const std::vector<Interval>& labels, const Box& within) {
  Box box;
  box.rank = static_cast<int>(access.dims.size());
  for (int d = 0; d < box.rank; ++d) {
    const DimAccess& dim = access.dims[idx(d)];
    if (dim.whole || dim.divisor < 1) {
      box[d] = within[d];
      continue;
    }
    Interval hull = dim.offset;
    for (const Affine::Term& term : dim.terms) {
      const Interval part = scale(term.coefficient, labels[idx(term.label)]);
      if (part.empty()) {
        hull = {0, 0};
        break;
      }
      hull = {hull.lo + part.lo, hull.hi + part.hi - 1};
    }
    box[d] = intersect(arithmetic::divided(hull, dim.divisor), within[d]);
    if (box[d].empty()) box[d] = {0, 0};
  }
  return box;
}

void TaskSpace::for_each_piece(TensorId id, const Box& box,
                               const std::function<void(const Coord&, const Piece&)>& f) const {
  if (box.empty()) return;
  const Distribution& tensor = tensors_(id).distribution;
  const bool sized = tensors_(id).desc.sized();
  TileBox tiles;
  tiles.rank = box.rank;
  Coord block;
  block.rank = box.rank;
  for (int d = 0; d < box.rank; ++d) {
    tiles[d] = tensor.tiling(d).tiles_meeting(box[d]);
    block[d] = tiles[d].lo;
  }
  while (true) {
    f(block, Piece{id, tensor.linear(block), sized ? tensor.box(block) : intersect(box, tensor.box(block))});
    int d = box.rank - 1;
    for (; d >= 0; --d) {
      if (++block[d] < tiles[d].hi) break;
      block[d] = tiles[d].lo;
    }
    if (d < 0) return;
  }
}

Estimate TaskSpace::output_bytes(const Coord& tile) const {
  Estimate bytes;
  for (const TensorDesc& output : op_.outputs) {
    bytes += op_.op_class == OpClass::kLoop ? Estimate::exactly(static_cast<double>(output.bytes()))
                                            : output.block_bytes(out_box(tile));
  }
  return bytes;
}

Index TaskSpace::sized_output_bytes(const Coord& tile) const {
  Index bytes = 0;
  for (const TensorDesc& output : op_.outputs)
    bytes += output.sized() ? output.block_bytes(out_box(tile)).most_bytes() : 0;
  return bytes;
}

bool TaskSpace::kept_across_panels(const Access& access) const {
  // Panels may share a block of a sized tensor.
  if (panels_ > 1 && tensors_(access.tensor).desc.sized()) return true;
  // Panels of a reduce label need different boxes only if that label is the sole label of some dimension's subscript,
  // equally in all accesses to the tensor: X[k, i] * X[k, j] yes, blocks [b k, b k + b) yes, A[k] * A[k + 1] no.
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    if (panels_of(k) <= 1) continue;
    bool distinguished = false;
    for (std::size_t d = 0; d < access.dims.size() && !distinguished; ++d) {
      const DimAccess& dim = access.dims[d];
      distinguished = !dim.whole && dim.divisor == 1 && dim.terms.size() == 1 &&
                      dim.terms[0].label == op_.reduce[k].label &&
                      dim.offset.size() <= std::abs(dim.terms[0].coefficient);
      for (const Access& other : op_.reads) {
        distinguished = distinguished && (other.tensor != access.tensor || other.dims[d] == dim);
      }
    }
    if (!distinguished) return true;
  }
  return false;
}

// --- super-blocks ---------------------------------------------------------------------------------------------------

Index TaskSpace::super_blocks(Index rank) const {
  Index count = 1;
  if (plan_.super_block.empty() || op_.out_rank() == 0) return count;
  if (plan_.space.by_table()) return chunk_count(plan_.space.owned_tiles(rank), plan_.super_block.front());
  for (int d = 0; d < op_.out_rank(); ++d) {
    const Index edge = plan_.super_block[idx(d)];
    if (edge > 0) count *= chunk_count(static_cast<Index>(plan_.space.owned_along(rank, d).size()), edge);
  }
  return count;
}

std::vector<Index> TaskSpace::super_block(Index rank, Index number) const {
  std::vector<Index> tiles;
  const Distribution& space = plan_.space;
  const bool whole = plan_.super_block.empty() || op_.out_rank() == 0;
  if (!whole && space.by_table()) {
    const std::span<const std::int32_t> list = space.owners().tiles_of(rank);
    const Index edge = plan_.super_block.front() > 0 ? plan_.super_block.front() : static_cast<Index>(list.size());
    const auto end = std::min(list.size(), static_cast<std::size_t>((number + 1) * edge));
    for (auto k = static_cast<std::size_t>(number * edge); k < end; ++k) tiles.push_back(list[k]);
    return tiles;
  }
  if (whole) {
    space.for_each_owned(rank, [&](const Coord& c) { tiles.push_back(space.linear(c)); });
    return tiles;
  }
  std::vector<std::vector<Index>> along;
  for (int d = 0; d < op_.out_rank(); ++d) along.push_back(space.owned_along(rank, d));
  for (int d = op_.out_rank() - 1; d >= 0; --d) {
    const Index edge = plan_.super_block[idx(d)];
    if (edge <= 0) continue;
    std::vector<Index>& list = along[idx(d)];
    const Index count = chunk_count(static_cast<Index>(list.size()), edge);
    const Index chunk = number % count;
    number /= count;
    const auto begin = std::min<std::size_t>(list.size(), static_cast<std::size_t>(chunk * edge));
    const auto end = std::min<std::size_t>(list.size(), static_cast<std::size_t>((chunk + 1) * edge));
    list = std::vector<Index>(list.begin() + static_cast<std::ptrdiff_t>(begin),
                              list.begin() + static_cast<std::ptrdiff_t>(end));
  }
  tiles.push_back(0);
  for (int d = 0; d < op_.out_rank(); ++d) {
    std::vector<Index> next;
    next.reserve(tiles.size() * along[idx(d)].size());
    for (Index t : tiles) {
      for (Index x : along[idx(d)]) next.push_back(t * space.tiling(d).tiles() + x);
    }
    tiles = std::move(next);
  }
  return tiles;
}

// --- steps ----------------------------------------------------------------------------------------------------------

StepCursor::StepCursor(const TaskSpace& space, const TensorLookup& tensors, Index rank)
    : space_(space), tensors_(tensors), rank_(rank), super_blocks_(space.super_blocks(rank)) {
  const auto look_at = [this](TensorId id) {
    const PlacedTensor& tensor = tensors_(id);
    if (tensor.housing.home != Home::kMemory) first_away_.emplace(id, tensor.first_away(rank_));
  };
  for (const Access& access : space_.op().reads) look_at(access.tensor);
  if (space_.op().base >= 0) look_at(space_.op().base);
  const std::vector<Access>& reads = space_.op().reads;
  for (const Access& access : reads) {
    const bool listed = space_.by_lists(access.tensor) && space_.walk_of(access);
    listed_.push_back(listed ? static_cast<int>(std::ranges::find(reads, access) - reads.begin()) : -1);
  }
  for (std::size_t a = 0; a < reads.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b)
      mixed_ = mixed_ || (reads[a].tensor == reads[b].tensor && listed_[a] != listed_[b]);
  }
  begin_super_block();
  first_panel_ = space_.first_panel(rank_);
}

/// Tensors that stay in their file are not loaded.
void StepCursor::begin_super_block() {
  tiles_ = space_.super_block(rank_, super_block_);
  const OpPlan& plan = space_.plan();
  if (space_.op().op_class != OpClass::kLoad || plan.housing.home != Home::kFile) return;
  const PlacedTensor made{space_.op().outputs.front(), plan.space, plan.housing};
  std::erase_if(tiles_, [&](Index number) { return made.away(plan.space.coord(number), rank_); });
}

bool StepCursor::is_away(TensorId tensor, const Coord& block) {
  if (first_away_.empty() || block.rank == 0) return false;
  const auto found = first_away_.find(tensor);
  return found != first_away_.end() && block[0] >= found->second;
}

void StepCursor::fetch(Step& step, TensorId tensor, const Piece& piece, Index owner, const std::vector<bool>& keep,
                       int listed) {
  const bool stays = space_.plan().keeps(space_.op(), tensor);
  if (!(stays ? kept_ : fetched_).insert(piece).second) {
    const auto known = mixed_ ? std::ranges::find(step.fetch, piece, &Fetch::piece) : step.fetch.end();
    if (known != step.fetch.end() && known->listed != listed) known->listed = -1;
    return;
  }
  const std::vector<Access>& reads = space_.op().reads;
  bool kept = false;
  for (std::size_t a = 0; a < reads.size(); ++a) kept = kept || (reads[a].tensor == tensor && keep[a]);
  step.fetch.push_back({piece, owner, tensors_(tensor).desc.block_bytes(piece.box), kept, stays, listed});
  if (listed >= 0) step.fetch.back().bytes.lo = 0;
  step.fetch_bytes += step.fetch.back().bytes;
}

bool StepCursor::next(Step& step) {
  step = Step{};
  while (tiles_.empty() || panel_ == space_.panels()) {
    if (++super_block_ >= super_blocks_) return false;
    panel_ = 0;
    fetched_.clear();
    begin_super_block();
  }
  step.super_block = super_block_;
  step.panel = (panel_ + first_panel_) % space_.panels();
  step.ends_super_block = panel_ + 1 == space_.panels();
  const Op& op = space_.op();
  std::vector<bool> keep;
  for (const Access& access : op.reads) keep.push_back(space_.kept_across_panels(access));
  // The part of the base loaded in the first panel may be read by an access in a later one.
  const std::vector<bool> keep_base(first_away_.empty() ? 0 : op.reads.size(), space_.panels() > 1);
  std::vector<Interval> labels;
  step.tasks.reserve(tiles_.size());
  for (Index number : tiles_) {
    Task task;
    task.tile = space_.plan().space.coord(number);
    task.hit = space_.hit(task.tile);
    if (!task.hit && panel_ > 0) continue;
    task.panel = space_.panel(task.tile, step.panel);
    task.first = panel_ == 0;
    task.last = !task.hit || step.ends_super_block;
    if (task.first) step.output_bytes += space_.output_bytes(task.tile);
    if (task.first && op.base >= 0 && !first_away_.empty()) {
      space_.for_each_piece(op.base, space_.out_box(task.tile), [&](const Coord& block, const Piece& piece) {
        if (is_away(op.base, block)) fetch(step, op.base, piece, rank_, keep_base);
      });
    }
    if (task.hit) {
      space_.label_intervals(task.tile, task.panel, labels);
      Index assembled = 0;
      if (space_.panels() > 1) assembled += space_.sized_output_bytes(task.tile);
      for (std::size_t a = 0; a < op.reads.size() && space_.points(labels) > 0; ++a) {
        const Access& access = op.reads[a];
        const PlacedTensor& tensor = tensors_(access.tensor);
        const Box box = space_.access_box(access, labels);
        Index pieces = 0;
        bool part_of_own = false;
        const auto look_at = [&](const Coord& block, const Piece& piece) {
          const Index owner = tensor.distribution.owner(block, rank_);
          ++pieces;
          const bool here = owner == rank_ && !is_away(access.tensor, block);
          part_of_own = part_of_own || (here && !(piece.box == tensor.distribution.box(block)));
          if (!here) fetch(step, access.tensor, piece, owner, keep, listed_[a]);
        };
        space_.for_each_piece(access.tensor, box, std::cref(look_at));  // by reference: no allocation
        if (!tensor.desc.sized() && !op.is_continued(a) && (pieces > 1 || (part_of_own && space_.plan().packs())))
          assembled += box.volume() * tensor.desc.element.bytes;
      }
      step.assembled_bytes = std::max(step.assembled_bytes, assembled);
    }
    step.tasks.push_back(task);
  }
  ++panel_;
  return true;
}

}  // namespace tdsl::plan
