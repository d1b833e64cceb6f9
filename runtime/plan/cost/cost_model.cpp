#include "runtime/plan/cost/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "runtime/plan/cost/file_writes.h"
#include "runtime/plan/cost/machine.h"
#include "runtime/plan/cost/node_bytes.h"
#include "runtime/plan/cost/operand_needs.h"
#include "runtime/plan/cost/panel_cuts.h"
#include "runtime/plan/cost/tile_pieces.h"
#include "runtime/plan/lists.h"
#include "runtime/plan/row_counts.h"

namespace tdsl::plan {

namespace {

using namespace counting;

/// Adds received elements; returns the bytes of operands read once per super-block, local or remote.
double add_reads(Cost& cost, const RankView& v, const TensorLookup& tensors, Index rank) {
  double read = 0;
  std::map<TensorId, std::vector<Need>> by_tensor;
  for (const Access& access : v.op.reads) {
    // Identical subscripts request the same pieces.
    const auto first = std::ranges::find_if(
        v.op.reads, [&](const Access& a) { return a.tensor == access.tensor && a.dims == access.dims; });
    if (&*first != &access) continue;
    by_tensor[access.tensor].push_back(need_of(v, access, tensors, rank));
  }
  for (const auto& [id, needs] : by_tensor) {
    const PlacedTensor& tensor = tensors(id);
    const auto bytes = static_cast<double>(tensor.desc.element.bytes);
    const Index chunks = v.plan.keeps(v.op, id) ? 1 : v.super_blocks;
    Range received, pieces;
    double panel = 0;
    for (const Need& need : needs) {
      received += need.received;
      pieces += need.pieces;
      panel += need.per_panel;
      read += tensor.desc.sized() ? bytes_of_blocks(tensor.desc, tensor.distribution,
                                                    {0, need.pieces.hi, need.pieces.hi}, {0, need.read, need.read})
                                        .expected
                                  : need.read * bytes;
    }
    if (needs.size() == 2 && received.hi > 0) {
      const double once = shared_elements(needs[0], needs[1], tensor, rank);
      if (chunks == 1 && v.exact && are_equal_or_disjoint(needs[0], needs[1])) {
        received = {std::max(0.0, received.lo - once), received.hi - once};
      } else if (once > 0) {
        // Shared within a super-block only, or in pieces cut differently: the largest single access is the guaranteed
        // minimum.
        received.lo = std::max(needs[0].received.lo, needs[1].received.lo);
      }
      if (once > 0) pieces.lo = 0;
    } else if (needs.size() > 2) {
      received.lo = 0;
      for (const Need& need : needs) received.lo = std::max(received.lo, need.received.lo);
      pieces.lo = 0;
    }
    if (by_lists(v.op, v.plan, tensors, id)) received.lo = pieces.lo = 0;
    const Range loaded = loaded_elements(needs, v, tensor, rank);
    cost.disk_read += {loaded.lo * bytes, loaded.hi * bytes};
    cost.received_elements += received;
    cost.boxes += pieces;
    const Estimate came = bytes_of_blocks(tensor.desc, tensor.distribution, {pieces.lo, pieces.hi, pieces.hi},
                                          {received.lo, received.hi, received.hi}, static_cast<double>(chunks));
    cost.bytes_received += {came.lo, came.hi};
    cost.bytes_expected += came.expected;
    const double blocks = loaded.hi > 0 ? panel : std::min(panel, pieces.hi);  // held at once
    const Estimate step = bytes_of_blocks(tensor.desc, tensor.distribution, {0, blocks, blocks}, {0, panel, panel});
    cost.step_bytes += {0, step.expected, step.hi};
  }
  return read;
}

double flops_in(const RankView& v, const VisitedRows& visited) {
  const double points = points_in(v);
  if (visited.label() < 0 || points == 0) return points * v.op.flops_per_point;
  const Intervals& rows = v.label[idx(visited.label())];
  return visited.flops(rows, points / static_cast<double>(total(rows)));
}

/// Properties of an operand that all its pieces share.
struct ListedOperand {
  ListedOperand(const Op& op, const OpPlan& plan, const TensorLookup& tensors, TensorId id)
      : tensor(tensors(id)), by_lists(plan::by_lists(op, plan, tensors, id)), kept(plan.keeps(op, id)) {}

  const PlacedTensor& tensor;
  bool by_lists;
  bool kept;                 ///< over super-blocks
  bool over_panels = false;  ///< kept for later panels
};

/// A rank's cost for an operation placed by an owner table: exact, tile by tile. Returns the same as add_reads.
double add_listed_tiles(Cost& cost, const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank) {
  const double panels = panel_count(op, plan);
  double owned = 0, tiles = 0, tasks = 0, flops = 0;
  const VisitedRows visited(op, tensors);
  const Wanted wanted = wanted_by(op, plan, tensors, rank, [&](const RankView& tile, Index) {
    owned += volume_over(tile.owned_out.size(), [&](std::size_t d) { return total(tile.owned_out[d]); });
    tiles += 1;
    tasks += is_hit(tile) ? panels : 1;
    flops += tile.works ? flops_in(tile, visited) : 0;
  });
  for (const TensorDesc& output : op.outputs) {
    const Estimate bytes = bytes_of_blocks(output, plan.space, Estimate::exactly(tiles), Estimate::exactly(owned));
    cost.output_bytes += {bytes.lo, bytes.hi};
    cost.output_expected += bytes.expected;
  }
  cost.tasks = {tasks, tasks};
  cost.flops = {flops, flops};
  // With owner tables, loads are not counted piece by piece: the upper bound is the whole operand.
  const auto is_away = [&](TensorId id) { return id >= 0 && tensors(id).housing.home != Home::kMemory; };
  if (std::ranges::any_of(op.reads, [&](const Access& access) { return is_away(access.tensor); }) || is_away(op.base)) {
    const double all = wanted.read_bytes + (is_away(op.base) ? cost.output_bytes.hi : 0);
    cost.disk_read += {0, all};
    cost.step_bytes += {0, all, all};
  }
  Estimate whole;                                       // of kept operands
  std::map<Index, Estimate> kept;                       // per super-block
  std::map<std::pair<Index, Index>, Estimate> passing;  // per super-block and panel
  std::map<TensorId, ListedOperand> operands;
  for (const Access& access : op.reads) {
    ListedOperand& operand = operands.try_emplace(access.tensor, op, plan, tensors, access.tensor).first->second;
    operand.over_panels = operand.over_panels || kept_over_panels(op, plan, access, tensors);
  }
  for (const WantedPiece& piece : wanted.pieces) {
    const ListedOperand& operand = operands.at(piece.tensor);
    const PlacedTensor& tensor = operand.tensor;
    const double elements = piece.bytes / static_cast<double>(tensor.desc.element.bytes);
    const double known = piece.block >= 0 && !operand.by_lists ? 1 : 0;
    const Estimate bytes = bytes_of_blocks(tensor.desc, tensor.distribution, {known, piece.boxes, piece.boxes},
                                           {known * elements, elements, elements});
    cost.received_elements += {known * elements, elements};
    cost.bytes_received += {bytes.lo, bytes.hi};
    cost.bytes_expected += bytes.expected;
    cost.boxes += {known, piece.boxes};
    (operand.kept          ? whole
     : operand.over_panels ? kept[piece.super_block]
                           : passing[{piece.super_block, piece.panel}]) += {0, bytes.expected, bytes.hi};
  }
  const auto widen = [&](Estimate bytes) {
    bytes += whole;
    cost.step_bytes = {0, std::max(cost.step_bytes.expected, bytes.expected), std::max(cost.step_bytes.hi, bytes.hi)};
  };
  widen({});
  for (const auto& [block, bytes] : kept) widen(bytes);
  for (const auto& [step, bytes] : passing) {
    Estimate both = bytes;
    if (const auto before = kept.find(step.first); before != kept.end()) both += before->second;
    widen(both);
  }
  return wanted.read_bytes;
}

/// Bytes of the non-resident blocks that a rank works on in one super-block, for a tensor shaped like the results.
double away_in_super_block(const RankView& v, const Distribution& where, const Housing& housing, Index element_bytes,
                           Index rank) {
  auto bytes = static_cast<double>(element_bytes);
  for (int d = 0; d < v.op.out_rank(); ++d) {
    const Index edge = v.plan.super_block.empty() ? 0 : v.plan.super_block[idx(d)];
    const Index all = d == 0 ? total(away_along(where, housing, rank)) : total(v.owned_out[idx(d)]);
    bytes *= static_cast<double>(edge > 0 ? std::min(all, edge * where.tiling(d).longest()) : all);
  }
  return bytes;
}

/// Disk traffic of results (written) and of the base (read).
void add_homes(Cost& cost, const RankView& v, const TensorLookup& tensors, Index rank) {
  const Distribution& space = v.plan.space;
  const Housing& housing = v.plan.housing;
  if (housing.home != Home::kMemory && v.op.out_rank() > 0) {
    for (const TensorDesc& output : v.op.outputs) {
      const double bytes = away_bytes(output, space, housing, rank);
      if (housing.home == Home::kFile) continue;
      cost.disk_written += {bytes, bytes};
      cost.away_bytes += away_in_super_block(v, space, housing, output.element.bytes, rank);
    }
  }
  if (v.op.base < 0 || v.op.out_rank() == 0) return;
  const PlacedTensor& base = tensors(v.op.base);
  if (base.housing.home == Home::kMemory) return;
  const double bytes = away_bytes(base.desc, base.distribution, base.housing, rank);
  const auto is_base = [&](const Access& access) { return access.tensor == v.op.base; };
  const bool read = std::ranges::any_of(v.op.reads, is_base);
  cost.disk_read += {read ? 0 : bytes, bytes};
  const double step = away_in_super_block(v, base.distribution, base.housing, base.desc.element.bytes, rank);
  cost.step_bytes += Estimate::exactly(step);
}

/// The cost where owned tiles are a product of intervals.
double add_product(Cost& cost, const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank) {
  const RankView v = view_of(op, plan, rank);
  double owned = 1, tiles = 1, hit = 1;
  for (int d = 0; d < op.out_rank(); ++d) {
    owned *= static_cast<double>(total(v.owned_out[idx(d)]));
    tiles *= static_cast<double>(v.owned_out[idx(d)].size());
    hit *= static_cast<double>(v.hit[idx(d)]);
  }
  if (op.out_rank() == 0 && !has_part(plan.space, rank)) owned = tiles = hit = 0;
  const double panels = panel_count(op, plan);
  for (const TensorDesc& output : op.outputs) {
    const bool whole = op.op_class == OpClass::kLoop;
    const Estimate bytes = whole                    ? Estimate::exactly(owned * static_cast<double>(output.bytes()))
                           : output.rows != nullptr ? owned_bytes(output, plan.space, rank)
                                                    : bytes_of_blocks(output, plan.space, Estimate::exactly(tiles),
                                                                      Estimate::exactly(owned));
    cost.output_bytes += {bytes.lo, bytes.hi};
    cost.output_expected += bytes.expected;
  }
  cost.tasks = {hit * panels + tiles - hit, hit * panels + tiles - hit};
  add_homes(cost, v, tensors, rank);
  if (!v.exact) cost.tasks.lo = tiles;  // off a diagonal a tile is one task
  if (!v.works) return 0;
  double flops = flops_in(v, VisitedRows(op, tensors));
  if (op.op_class == OpClass::kLoad && plan.housing.home == Home::kFile && op.out_rank() > 0 && tiles > 0) {
    // A tensor that stays in its file has no tasks.
    const auto rows = static_cast<double>(v.owned_out[0].size());
    const double loaded = std::min(rows, static_cast<double>(plan.housing.resident_tiles));
    cost.tasks = {tiles / rows * loaded, tiles / rows * loaded};
    flops *= 1 - static_cast<double>(total(away_along(plan.space, plan.housing, rank))) /
                     static_cast<double>(total(v.owned_out[0]));
  }
  cost.flops = {v.exact ? flops : 0, flops};
  return add_reads(cost, v, tensors, rank);
}

/// A later panel rebuilds a sized block while the previous version is still held.
double doubled_blocks(const Op& op, const OpPlan& plan) {
  const bool again = panel_count(op, plan) > 1;
  double bytes = 0;
  for (const TensorDesc& output : op.outputs) {
    if (!again || !output.sized()) continue;
    const std::vector<Index> tile = longest_tiles(plan.space);
    double elements = 1;
    for (const Index extent : tile) elements *= static_cast<double>(extent);
    bytes += output.block_bytes(Estimate::exactly(1), Estimate::exactly(elements), tile).hi;
  }
  return bytes;
}

/// The largest operand boxes that the view's tasks may have to assemble.
double assembled_in(const RankView& v, const TensorLookup& tensors) {
  double bytes = 0;
  for (std::size_t a = 0; a < v.op.reads.size(); ++a) {
    if (v.op.is_continued(a)) continue;  // copied into the output
    const Access& access = v.op.reads[a];
    const PlacedTensor& tensor = tensors(access.tensor);
    if (tensor.desc.sized()) continue;
    auto box = static_cast<double>(tensor.desc.element.bytes);
    bool copied = false;
    for (int d = 0; d < tensor.distribution.rank(); ++d) {
      const Tiling& tiling = tensor.distribution.tiling(d);
      if (const auto panels = PanelCuts::of(v, access.dims[idx(d)], tensor.desc.shape[idx(d)])) {
        copied = copied || panels->cross(tiling) || (v.plan.packs() && !panels->are_tiles(tiling));
        box *= static_cast<double>(panels->longest());
        continue;
      }
      Index longest = 0;
      for (const Interval& i : touched(v, access.dims[idx(d)], tensor.desc.shape[idx(d)])) {
        const Interval tiles = tiling.tiles_meeting(i);
        longest = std::max(longest, i.size());
        copied = copied || tiles.size() > 1 || (v.plan.packs() && !tiles.empty() && i != tiling.tile(tiles.lo));
      }
      box *= static_cast<double>(longest);
    }
    if (copied) bytes += box;
  }
  return v.works ? bytes + doubled_blocks(v.op, v.plan) : 0;
}

/// The pieces a rank writes to a file in C order. For compressed tensors the number of pieces is unknown.
void add_writes(Cost& cost, const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank) {
  if (!op.in_rows) return;
  const TensorDesc& tensor = tensors(op.reads.front().tensor).desc;
  const double writes = file_writes(plan.space, rank);
  cost.writes = {tensor.sized() ? 0 : writes, tensor.sized() ? std::numeric_limits<double>::max() : writes};
  cost.file_bytes = static_cast<double>(plan.space.owned_elements(rank) * tensor.element.bytes);
}

}  // namespace

Cost cost_of(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank, const Machine& machine,
             int threads) {
  Cost cost;
  const bool by_table = plan.space.by_table();
  const double read_once =
      by_table ? add_listed_tiles(cost, op, plan, tensors, rank) : add_product(cost, op, plan, tensors, rank);
  double touched_bytes = cost.output_expected, packing = 0;
  if (streams_operands(op)) {
    touched_bytes += read_once;
    const double again = op.by_rows ? reads_of_shared(op, cost.flops.hi / std::max(1.0, op.flops_per_point)) - 1 : 0;
    for (const Access& access : op.reads) {
      if (again <= 0 || !is_shared(access)) continue;
      const auto bytes = static_cast<double>(tensors(access.tensor).desc.bytes());
      if (op.product_share > 0)
        packing += again * seconds_to_pack(bytes, machine);
      else
        touched_bytes += again * bytes;
    }
  } else {
    touched_bytes += 8.0 * static_cast<double>(op.reads.size()) * cost.flops.hi / std::max(1.0, op.flops_per_point);
  }
  const double compute =
      (std::max(seconds_of_flops(op, cost.flops.hi, machine), touched_bytes / machine.stream_rate) + packing) / threads;
  const double network =
      seconds_of(traffic_of(op, plan, tensors, rank, cost.bytes_expected, cost.boxes.hi, machine), machine);
  const double disk = cost.disk_read.hi / machine.disk_read_rate + cost.disk_written.hi / machine.disk_write_rate;
  add_writes(cost, op, plan, tensors, rank);
  const double pieces = cost.writes.lo * machine.write_call;
  cost.seconds = {std::max({compute, network, disk, pieces}),
                  compute + network + disk + pieces + seconds_of_tasks(cost.tasks.hi, machine, threads)};
  return cost;
}

Range messages_of(const Cost& cost) {
  constexpr double kMessageBytes = 1 << 30;
  // All sized blocks may be absent.
  return {cost.boxes.lo > 0 && cost.bytes_received.lo > 0 ? 1.0 : 0.0,
          cost.boxes.hi + 2 * std::floor(cost.bytes_received.hi / kMessageBytes)};
}

double assembled_bytes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank) {
  if (!plan.space.by_table()) return assembled_in(view_of(op, plan, rank), tensors);
  double most = 0;
  for_each_tile(op, plan, rank,
                [&](const RankView& tile, Index) { most = std::max(most, assembled_in(tile, tensors)); });
  return most;
}

std::vector<Index> rank_sample(Index ranks, Index most) {
  const Index count = std::min(ranks, std::max<Index>(most, 2));
  std::vector<Index> sample;
  for (Index k = 0; k < count; ++k) sample.push_back(count > 1 ? k * (ranks - 1) / (count - 1) : 0);
  return sample;
}

std::vector<Index> rank_sample(const Distribution& space, Index most_sampled) {
  const Index p = space.ranks();
  std::vector<Index> sample = rank_sample(p, most_sampled);
  const auto add = [&](Index rank) {
    const auto at = std::lower_bound(sample.begin(), sample.end(), rank);
    if (at == sample.end() || *at != rank) sample.insert(at, rank);
  };
  if (space.by_axes()) {
    Index last = space.home();
    for (const GridDim& dim : space.grid_dims()) {
      for (const GridAxis& axis : dim.axes) last += (axis.size - 1) * axis.stride;
    }
    add(space.home() % p);
    add(last % p);
  } else if (space.by_table()) {
    Index most = 0;
    for (Index rank = 1; rank < p; ++rank) most = space.owned_tiles(rank) > space.owned_tiles(most) ? rank : most;
    add(most);
  }
  return sample;
}

CostSummary summarise(const Op& op, const OpPlan& plan, const TensorLookup& tensors, const Machine& machine,
                      int threads, Index most) {
  CostSummary sum;
  double count = 0;
  for (const Index rank : rank_sample(plan.space, most)) {
    const Cost c = cost_of(op, plan, tensors, rank, machine, threads);
    sum.max_bytes = std::max(sum.max_bytes, c.bytes_expected);
    sum.max_flops = std::max(sum.max_flops, c.flops.hi);
    sum.max_step = std::max(sum.max_step, c.step_bytes.hi);
    sum.expected_step = std::max(sum.expected_step, c.step_bytes.expected);
    sum.max_seconds = std::max(sum.max_seconds, c.seconds.hi);
    if (c.writes.lo > sum.max_writes) {
      sum.max_writes = c.writes.lo;
      sum.file_bytes = c.file_bytes;
    }
    sum.mean_bytes += c.bytes_expected;
    sum.mean_flops += c.flops.hi;
    count += 1;
  }
  sum.mean_bytes /= count;
  sum.mean_flops /= count;
  return sum;
}

}  // namespace tdsl::plan
