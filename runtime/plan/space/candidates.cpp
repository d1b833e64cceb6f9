#include "runtime/plan/space/candidates.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/plan/cost/file_writes.h"
#include "runtime/plan/space/placement.h"
#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/row_slabs.h"
#include "runtime/plan/space/tiles.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::plan {

namespace {

/// All ways to write p as an ordered product over `slots` with at most three factors above 1, each within its limit.
void factorise(Index p, const std::vector<Index>& limits, std::size_t slot, int left, std::vector<Index>& now,
               const std::function<void(const std::vector<Index>&)>& f) {
  if (slot == limits.size()) {
    if (p == 1) f(now);
    return;
  }
  for (Index factor = 1; factor <= p && factor <= std::max<Index>(limits[slot], 1); ++factor) {
    if (p % factor != 0 || (factor > 1 && left == 0)) continue;
    now.push_back(factor);
    factorise(p / factor, limits, slot + 1, factor > 1 ? left - 1 : left, now, f);
    now.pop_back();
  }
}

void add_grids(std::vector<Candidate>& list, const PlacementBuilder& builder, const Op& op, const PlanInputs& inputs) {
  std::vector<Index> limits;
  const std::optional<Cuts>& cuts = builder.cuts();
  for (int d = 0; d < op.out_rank(); ++d) {
    const Index edge = !op.tile.empty()       ? op.tile[idx(std::min(d, static_cast<int>(op.tile.size()) - 1))]
                       : !inputs.tile.empty() ? inputs.tile[std::min(idx(d), inputs.tile.size() - 1)]
                                              : 1;
    const bool divisible = (op.out[idx(d)].label >= 0 || op.out[idx(d)].label == kAnyLabel) && !op.is_uncut(idx(d));
    const Index tiles = cuts ? cuts->out[idx(d)].tiles() : ceil_div(op.shape[idx(d)], edge);
    limits.push_back(divisible ? tiles : 1);
  }
  for (std::size_t k = 0; cuts && k < op.reduce.size(); ++k) limits.push_back(cuts->reduce[k].parts());
  for (std::size_t k = 0; !cuts && k < op.reduce.size(); ++k) {
    const Index extent = op.labels[idx(op.reduce[k].label)].range.size();
    limits.push_back(op.combine == Combine::kNone || op.base >= 0 || (k > 0 && assembles(op))
                         ? 1
                         : ceil_div(extent, inputs.tile.empty() ? 1 : inputs.tile.front()));
  }
  const std::size_t before = list.size();
  // As many ranks as can share the work; fewer only if the extents are too small.
  for (Index p = inputs.ranks; p >= 1 && list.size() == before; --p) {
    std::vector<Index> now;
    factorise(p, limits, 0, 3, now, [&](const std::vector<Index>& factors) {
      const auto middle = factors.begin() + op.out_rank();
      const std::vector<Index> reduced(middle, factors.end());
      if (parts::split_labels(reduced) > op.most_split_labels()) return;
      list.push_back(builder.grid({factors.begin(), middle}, reduced));
    });
  }
}

/// A loop runs where an operand is already whole, or on a rank of its own. A loop over scalars alone runs on every
/// rank.
void add_loop_places(std::vector<Candidate>& list, const PlacementBuilder& builder, const Op& op,
                     const PlanInputs& inputs, const Operands& operands) {
  const auto is_scalar = [](const Access& access) { return access.dims.empty(); };
  if (std::all_of(op.reads.begin(), op.reads.end(), is_scalar)) {
    list.push_back(builder.same_as(Distribution::replicated(inputs.ranks, {}), "scalars, on every rank"));
    return;
  }
  std::set<Index> places;
  for (const Access& access : op.reads) {
    const PlacedTensor* placed = operands.placed(access.tensor);
    if (placed == nullptr || is_scalar(access)) continue;
    const Distribution& where = placed->distribution;
    if (!where.by_axes() || where.everywhere() || where.tile_count() != 1) continue;
    const Index owner = where.owner(where.coord(0), 0);
    if (places.insert(owner).second) list.push_back(builder.single(owner, "where an operand lies"));
  }
  list.push_back(builder.single(inputs.ranks == 1 ? 0 : home_of(op, inputs.ranks), "a loop is one task"));
}

/// Rows are not gathered if a rank writes fewer pieces than this, or pieces of at least kLongWrite bytes.
constexpr double kFewWrites = 256;
constexpr double kLongWrite = 1 << 20;
/// Target size of the whole rows that a task writes, memory permitting; below the minimum rows are not gathered.
constexpr Index kSlabBytes = Index{4} << 20, kLeastSlab = Index{256} << 10;

/// Note [Rows are gathered for long writes]
/// A rank's tiles of a file in C order may be very many short pieces interleaved with those of other ranks: parallel
/// file systems treat each as a request and lock the surrounding range. Such a store gets a second candidate placement,
/// in slabs of whole rows, for which ranks receive the elements they lack as ordinary boxes: planned, predicted and
/// counted against --memory like all others.
std::optional<Distribution> rows_to_write(const PlacedTensor& value, const Distribution& where,
                                          const PlanInputs& inputs) {
  const double writes = most_file_writes(where, inputs.sample);
  const double bytes =
      static_cast<double>(value.desc.bytes()) / static_cast<double>(std::min(inputs.ranks, where.tile_count()));
  if (writes < kFewWrites || bytes / writes >= kLongWrite) return std::nullopt;
  Index slab = kSlabBytes;  // received, and assembled by every thread
  if (inputs.window > 0) slab = std::min(slab, inputs.window / 4);
  if (inputs.memory > 0) slab = std::min(slab, inputs.memory / 64);
  if (slab < kLeastSlab) return std::nullopt;
  std::optional<Distribution> slabs = row_slabs(value.desc, where, slab);
  Index tile = value.desc.element.bytes;  // a row may be longer
  for (int d = 0; slabs && d < slabs->rank(); ++d) tile = product(tile, slabs->tiling(d).longest());
  return inputs.window > 0 && tile > inputs.window / 4 ? std::nullopt : slabs;
}

}  // namespace

bool carries_columns(const Op& op, const PlanInputs& inputs) {
  const Index p = inputs.ranks;
  return op.shape.size() == 2 && op.shape[0] >= p && op.shape[1] >= p && op.tile.empty() && inputs.tile.empty() &&
         !op.is_uncut(0) && !op.is_uncut(1);
}

std::vector<BlockMap> column_maps(const Op& op, const PlanInputs& inputs, std::size_t most) {
  const Index p = inputs.ranks;
  if (inputs.reproducible || p < 4 || !carries_columns(op, inputs) || op.out[0].label < 0 || op.out[1].label < 0)
    return {};
  std::vector<Index> counts;
  for (Index columns = 2; columns * columns <= 2 * p; ++columns) {
    if (p % columns != 0) counts.push_back(columns);
  }
  const double ratio = counts.size() <= most
                           ? 1
                           : std::pow(static_cast<double>(counts.back()) / static_cast<double>(counts.front()),
                                      1.0 / static_cast<double>(most - 1));
  std::vector<BlockMap> maps;
  double last = 0;
  for (const Index count : counts) {
    if (static_cast<double>(count) < 0.999 * ratio * last && count != counts.back()) continue;
    last = static_cast<double>(count);
    maps.push_back(block_map(RankColumns{p, count, 0, 1}));
    maps.push_back(block_map(RankColumns{p, count, 1, 0}));
  }
  return maps;
}

Index home_of(const Op& op, Index ranks) {
  std::uint64_t h = 1469598103934665603ULL;
  const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 1099511628211ULL; };
  // Offsets may be any 64-bit numbers: the hash wraps.
  const auto mix_pair = [&](Index a, std::uint64_t factor, Index b) {
    mix(static_cast<std::uint64_t>(a) * factor + static_cast<std::uint64_t>(b));
  };
  mix(static_cast<std::uint64_t>(op.op_class));
  for (const LabelDesc& label : op.labels) mix(static_cast<std::uint64_t>(label.range.size()));
  for (const Access& access : op.reads) {
    for (const DimAccess& dim : access.dims) {
      for (const Affine::Term& term : dim.terms) mix_pair(term.label, 131, term.coefficient);
      mix_pair(dim.offset.lo, 31, dim.offset.hi);
    }
    mix(access.dims.size());
  }
  mix(h >> 29);
  return static_cast<Index>(h % static_cast<std::uint64_t>(std::max<Index>(ranks, 1)));
}

Op combination_of(const Op& recorded, const Op& partial) {
  Op op;
  op.op_class = OpClass::kCombine;
  op.name = recorded.name;
  op.line = recorded.line;
  op.site = recorded.site;
  op.shape = recorded.shape;
  op.outputs = recorded.outputs;
  op.combine = Combine::kNone;
  op.flops_per_point = 1;
  op.tile = recorded.tile;
  op.moves = recorded.moves;
  if (assembles(recorded)) op.uncut = recorded.uncut;
  const int parts = partial.out_rank() - recorded.out_rank();
  for (int d = 0; d < recorded.out_rank(); ++d) {
    const int label = recorded.out[idx(d)].label;
    op.out.push_back({d, 1, 0});
    op.labels.push_back(
        {label >= 0 ? recorded.labels[idx(label)].name : std::to_string(d), {0, recorded.shape[idx(d)]}});
  }
  Access access;
  access.tensor = partial.outputs.front().id;
  for (int k = 0; k < parts; ++k) {
    const int label = static_cast<int>(op.labels.size());
    op.labels.push_back({"part" + std::to_string(k), {0, partial.shape[idx(k)]}});
    op.reduce.push_back({label, -1});
    access.dims.push_back({{{label, 1}}, {0, 1}, false});
  }
  for (int d = 0; d < recorded.out_rank(); ++d) access.dims.push_back({{{d, 1}}, {0, 1}, false});
  op.reads.push_back(std::move(access));
  // The labels of a result with an epilogue are its dimensions.
  op.epilogue = recorded.epilogue;
  op.reads.insert(op.reads.end(), recorded.epilogue_reads().begin(), recorded.epilogue_reads().end());
  if (assembles(recorded)) op.flops_per_point = entries_of(recorded) / std::max(1.0, points_of(op));  // one per entry
  return op;
}

Distribution lay_out(const Op& op, const TensorDesc& tensor, const Layout& layout, const Distribution& like,
                     const PlanInputs& inputs, const Operands& operands) {
  return PlacementBuilder(op, inputs, operands).lay_out(tensor, layout, like);
}

Op copy_of(const Op& op, const TensorDesc& tensor) {
  Op copy;
  copy.op_class = OpClass::kCopy;
  copy.name = op.name;
  copy.line = op.line;
  copy.site = op.site;
  copy.shape = tensor.shape;
  copy.flops_per_point = 0;
  Access access;
  access.tensor = tensor.id;
  const std::vector<std::string> names = result_names(op);
  for (int d = 0; d < static_cast<int>(tensor.shape.size()); ++d) {
    copy.out.push_back({d, 1, 0});
    // Results of loops have their own shapes.
    copy.labels.push_back(
        {idx(d) < names.size() ? names[idx(d)] : "dimension " + std::to_string(d), {0, tensor.shape[idx(d)]}});
    access.dims.push_back({{{d, 1}}, {0, 1}, false});
  }
  copy.reads.push_back(std::move(access));
  TensorDesc kept = tensor;
  kept.id = -1;
  kept.name = "copy of " + tensor.name;
  kept.tile.clear();
  copy.outputs.push_back(std::move(kept));
  return copy;
}

bool has_choice(const Op& op, const Operands& operands) {
  const bool effect =
      op.op_class == OpClass::kStore || op.op_class == OpClass::kCollect || op.op_class == OpClass::kControl;
  const bool in_place = op.base >= 0 && operands.placed(op.base) != nullptr;
  return !effect && op.home < 0 && !op.replicated && !in_place &&
         std::ranges::none_of(op.shape, [](Index extent) { return extent == 0; });
}

std::optional<Candidate> realise(const Op& op, const Layout& work, const PlanInputs& inputs, const Operands& operands) {
  if (!has_choice(op, operands)) return std::nullopt;
  return PlacementBuilder(op, inputs, operands).realise(work, *operands.mesh);
}

std::vector<Candidate> candidates_for(const Op& op, const PlanInputs& inputs, const Operands& operands) {
  std::vector<Candidate> list;
  const PlacementBuilder builder(op, inputs, operands);
  const auto replicated = [&] {
    const std::vector<Index> once(op.shape.size(), 1);
    return Distribution::replicated(inputs.ranks, builder.out_tilings(once, 1, 1));
  };
  if (op.home >= 0) {
    list.push_back(builder.single(op.home, "on rank " + std::to_string(op.home)));
    return list;
  }
  if (op.replicated) {
    list.push_back(builder.same_as(replicated(), "on every rank"));
    return list;
  }
  if (op.op_class == OpClass::kStore && operands.placed(op.reads.front().tensor) != nullptr) {
    const PlacedTensor& value = *operands.placed(op.reads.front().tensor);
    list.push_back(builder.same_as(value.distribution.one_copy(), "where it lies"));
    if (!op.in_rows || value.desc.sized() || inputs.machine.write_call == 0) return list;
    if (const auto slabs = rows_to_write(value, list.front().plan.space, inputs))
      list.push_back(builder.same_as(*slabs, "rows gathered for long writes"));
    return list;
  }
  if (op.base >= 0 && operands.placed(op.base) != nullptr) {
    const Distribution& where = operands.placed(op.base)->distribution;
    list.push_back(builder.same_as(where, "in place"));
    return list;
  }
  if (op.op_class == OpClass::kLoop) {
    add_loop_places(list, builder, op, inputs, operands);
    return list;
  }
  bool scalar = op.shape.empty() && op.reduce.empty();
  for (const Access& access : op.reads) scalar = scalar && access.dims.empty();
  if (scalar && op.op_class != OpClass::kStore) {
    list.push_back(builder.same_as(replicated(), "scalar, on every rank"));
    return list;
  }
  Index elements = 1;
  for (Index e : op.shape) elements *= e;
  if (inputs.ranks == 1 || elements == 0) {
    list.push_back(builder.single(0, "one rank"));
    return list;
  }
  for (const Access& access : op.reads) {
    const PlacedTensor* placed = operands.placed(access.tensor);
    if (placed == nullptr || access.dims.empty()) continue;
    std::optional<Candidate> c = builder.inherit(access, *placed);
    if (c) list.push_back(std::move(*c));
  }
  // A small result is no reason to gather large operands on one rank.
  const auto small = [&](const Access& access) {
    const PlacedTensor* placed = operands.placed(access.tensor);
    return (placed != nullptr ? placed->desc : operands.describe(access.tensor)).elements() <= kSmallOperand;
  };
  const bool tiny = inputs.tile.empty() && op.tile.empty() && elements <= 8192 && points_of(op) <= 1 << 16 &&
                    std::all_of(op.reads.begin(), op.reads.end(), small);
  if (tiny) {
    list.push_back(builder.single(home_of(op, inputs.ranks), "tiny"));
    return list;
  }
  if (op.is_one_task()) {
    list.push_back(builder.single(home_of(op, inputs.ranks), "one task"));
    return list;
  }
  if (op.shape.empty() && op.combine == Combine::kNone)
    list.push_back(builder.single(home_of(op, inputs.ranks), "one result"));
  add_grids(list, builder, op, inputs);
  for (const BlockMap& map : op.base < 0 ? column_maps(op, inputs, SIZE_MAX) : std::vector<BlockMap>{}) {
    if (std::optional<Candidate> c = builder.realise(map)) list.push_back(std::move(*c));
  }
  if (list.empty()) list.push_back(builder.single(home_of(op, inputs.ranks), "too small to share"));
  return list;
}

}  // namespace tdsl::plan
