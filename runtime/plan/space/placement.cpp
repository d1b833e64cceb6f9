#include "runtime/plan/space/placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/plan/compressed.h"
#include "runtime/plan/space/node_grid.h"
#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/tiles.h"

namespace tdsl::plan {

using parts::contiguous;
using parts::mentions;
using parts::plain_dim;
using parts::reduced_dim;
using parts::split_labels;

namespace {

/// Cuts a label's tiles into parts: `wanted` per coordinate of `grid` (which may be unsplit).
ReduceChoice split(const Tiling& tiling, const GridDim& grid, Index wanted) {
  ReduceChoice choice{tiling, 0, grid};
  const Index tiles = std::max<Index>(tiling.tiles(), 1);
  const Index run = grid.axes.empty() ? tiles : grid.q;
  Index per_part = std::max<Index>(1, run / std::max<Index>(wanted, 1));
  while (!grid.axes.empty() && run % per_part != 0) --per_part;
  choice.per_part = per_part;
  choice.grid.q = std::max<Index>(1, run / per_part);
  if (grid.axes.empty()) choice.grid.q = 1;
  return choice;
}

}  // namespace

double elements_of(const std::vector<Index>& shape) {
  double n = 1;
  for (const Index extent : shape) n *= static_cast<double>(extent);
  return n;
}

double points_of(const Op& op) {
  double points = 1;
  for (const LabelDesc& label : op.labels) points *= label.from_data ? 1.0 : static_cast<double>(label.range.size());
  return points;
}

double entries_of(const Op& op) { return op.moves ? op.outputs.front().stored.expected : points_of(op); }

double simple_points_of(const Op& op) {
  return points_of(op) * (op.by_rows ? std::max(1.0, op.flops_per_point / 2) : 1.0);
}

PlacementBuilder::PlacementBuilder(const Op& op, const PlanInputs& inputs, const Operands& operands)
    : op_(op), inputs_(inputs), operands_(operands) {
  if (inputs.reproducible) cuts_ = canonical_cuts(op, inputs.tile, operands);
  if (cuts_) return;
  if (!inputs.homes.empty()) {
    const Index moved = moved_block(inputs);
    const auto edge = static_cast<Index>(std::sqrt(static_cast<double>(moved)));
    longest_ = op.op_class == OpClass::kContraction
                   ? longest_edges(op, std::min(moved, largest_block(op, inputs)), std::min(edge, kContractionEdge))
                   : longest_reduced(op, operands, moved);
  } else {
    longest_ = op.op_class == OpClass::kContraction ? longest_edges(op, largest_block(op, inputs))
                                                    : std::vector<Index>(op.labels.size(), kMapTileElements);
  }
  stream_ = stream_of(op, operands);
  seconds_ = seconds_alone(op, operands, inputs.machine);
}

ReduceChoice PlacementBuilder::canonical(std::size_t k, GridDim grid) const {
  const Cuts::Reduction& cut = cuts_->reduce[k];
  return {cut.tiling, cut.per_part, std::move(grid)};
}

GridDim PlacementBuilder::carried(GridDim dim, const Tiling& from, const Tiling& to) {
  if (!dim.axes.empty() && from != to) dim.q = contiguous(to, dim.size());
  return dim;
}

void PlacementBuilder::share_cuts(Draft& draft) const {
  if (cuts_ || (draft.map && !draft.map->columns)) return;  // equal extents have equal cuts; a map prescribes its own
  const auto twins = [&](std::size_t d, std::size_t e) {
    for (const Access& a : op_.reads) {
      for (const Access& b : op_.reads) {
        for (std::size_t x = 0; a.tensor == b.tensor && x < a.dims.size(); ++x) {
          if (mentions(a.dims[x], op_.out[d].label) && mentions(b.dims[x], op_.out[e].label)) return true;
        }
      }
    }
    return false;
  };
  const auto near_equal = [](const Tiling& t) { return t == Tiling::near_equal(t.extent(), t.tiles(), t.unit()); };
  for (std::size_t d = 0; d < op_.out.size(); ++d) {
    for (std::size_t e = d + 1; e < op_.out.size(); ++e) {
      const Tiling one = draft.tilings[d];
      const Tiling two = draft.tilings[e];
      if (op_.is_uncut(d) || op_.is_uncut(e)) continue;
      if (op_.out[d].label < 0 || op_.out[e].label < 0 || one == two || one.extent() != two.extent() ||
          one.extent() == 0)
        continue;
      if (!near_equal(one) || !near_equal(two) || !twins(d, e)) continue;
      const Index most = std::max(one.tiles(), two.tiles());
      const Index fine = std::lcm(one.tiles(), two.tiles());
      const Tiling shared =
          Tiling::near_equal(one.extent(), fine <= 8 * most ? fine : most, std::min(one.unit(), two.unit()));
      for (const std::size_t k : {d, e}) {
        GridDim& dim = draft.dims[k];
        const Index old = draft.tilings[k].tiles();
        if (!dim.axes.empty())
          dim.q = shared.tiles() % old == 0 ? dim.q * (shared.tiles() / old) : contiguous(shared, dim.size());
        draft.tilings[k] = shared;
      }
    }
  }
}

Candidate PlacementBuilder::build(Draft draft, std::string why) const {
  share_cuts(draft);
  Candidate c;
  c.op = op_;
  std::vector<Tiling> tilings;
  std::vector<GridDim> dims;
  Op partial = op_;
  std::vector<Index> parts_shape;
  std::vector<OutSubscript> parts_out;
  std::vector<int> map_dims;
  for (std::size_t k = 0; k < draft.reduce.size(); ++k) {
    const ReduceChoice& r = draft.reduce[k];
    if (r.per_part == 0) continue;
    const Index parts = std::max<Index>(1, ceil_div(r.tiling.tiles(), r.per_part));
    partial.reduce[k].part_dim = static_cast<int>(parts_shape.size());
    parts_shape.push_back(parts);
    parts_out.push_back({kPartLabel, 1, 0});
    tilings.push_back(Tiling::fixed(parts, 1));
    dims.push_back(r.grid);
    const std::size_t slot = op_.shape.size() + k;
    map_dims.push_back(draft.map && slot < draft.map->blocks.size() ? static_cast<int>(slot) : -1);
  }
  c.partial = !parts_shape.empty();
  if (c.partial) {
    partial.shape.insert(partial.shape.begin(), parts_shape.begin(), parts_shape.end());
    partial.out.insert(partial.out.begin(), parts_out.begin(), parts_out.end());
    partial.tile.clear();
    const std::size_t own = op_.own_reads().size();  // an epilogue waits for the sum
    partial.reads.resize(own);
    partial.epilogue = false;
    if (!partial.uncut.empty()) partial.uncut.insert(partial.uncut.begin(), parts_shape.size(), false);
    for (TensorDesc& output : partial.outputs) {
      if (assembles(op_)) list_entries(draft.reduce.front(), output);
      output.shape = partial.shape;
      output.name = "parts of " + output.name;
      output.id = -1;
    }
    c.op = std::move(partial);
  }
  tilings.insert(tilings.end(), draft.tilings.begin(), draft.tilings.end());
  dims.insert(dims.end(), draft.dims.begin(), draft.dims.end());
  if (draft.map) {
    for (int d = 0; d < op_.out_rank(); ++d) map_dims.push_back(d);
    c.plan.space = Distribution::mapped(inputs_.ranks, std::move(tilings), *draft.map, map_dims);
  } else {
    c.plan.space =
        Distribution::grid(inputs_.ranks, std::move(tilings), std::move(dims), draft.home, std::move(draft.repeat));
  }
  for (const ReduceChoice& r : draft.reduce) c.plan.reduce.push_back(r.tiling);
  c.plan.super_block.assign(c.op.shape.size(), 0);
  c.plan.why = std::move(why);
  place_leaves(c);
  return c;
}

std::vector<ReduceChoice> PlacementBuilder::unsplit(Index output_tiles, Index ranks_used, Index multiple) const {
  std::vector<ReduceChoice> choices;
  Index wanted = parts_wanted(output_tiles, ranks_used);
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    if (cuts_) {
      choices.push_back(canonical(k, {}));
      continue;
    }
    ReduceChoice choice{whole_panels(k, std::lcm(multiple, wanted)), 0, {}};
    if (wanted > 1 && choice.tiling.tiles() > 1) {
      choice = split(choice.tiling, {}, wanted);
      wanted = 1;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

Candidate PlacementBuilder::single(Index home, std::string why) const {
  Draft draft;
  draft.home = home;
  draft.tilings = out_tilings(std::vector<Index>(op_.shape.size(), 1), inputs_.threads, 1);
  draft.dims.resize(op_.shape.size());
  if (inputs_.ranks == 1 && !op_.reduce.empty() && stream_.bound) adopt_tiles(draft);
  draft.reduce = unsplit(tile_count(draft.tilings), 1, 1);
  return build(std::move(draft), std::move(why));
}

std::vector<Index> PlacementBuilder::ranks_in_node(const std::vector<Index>& factors) const {
  const Index per_node = inputs_.ranks_per_node;
  Index used = 1;
  for (Index f : factors) used *= f;
  if (per_node == 1 || used <= per_node || used % per_node != 0) return std::vector<Index>(factors.size(), 1);
  std::vector<GridOperand> operands;
  for (const Access& access : op_.reads) {
    const PlacedTensor* placed = operands_.placed(access.tensor);
    const TensorDesc& tensor = placed != nullptr ? placed->desc : operands_.describe(access.tensor);
    const auto varies_along = [&](int label) {
      return std::any_of(access.dims.begin(), access.dims.end(), [label](const DimAccess& dim) {
        const auto has = [label](const Affine::Term& term) { return term.label == label; };
        return !dim.whole && dim.divisor >= 1 && std::any_of(dim.terms.begin(), dim.terms.end(), has);
      });
    };
    GridOperand operand{static_cast<double>(tensor.bytes()), {}};
    for (const ReduceLabel& r : op_.reduce) operand.along.push_back(varies_along(r.label));
    for (const OutSubscript& s : op_.out) operand.along.push_back(s.label >= 0 && varies_along(s.label));
    operands.push_back(std::move(operand));
  }
  return node_grid(factors, per_node, operands);
}

Candidate PlacementBuilder::grid(const std::vector<Index>& out_factor, const std::vector<Index>& reduce_factor) const {
  Draft draft;
  Index out_used = 1;
  for (Index f : out_factor) out_used *= f;
  draft.tilings = out_tilings(list_tiles(out_factor, reduce_factor), inputs_.threads, out_used);
  // The parts' axes come first in the rank number.
  std::vector<Index> factors = reduce_factor;
  factors.insert(factors.end(), out_factor.begin(), out_factor.end());
  const std::vector<Index> in_node = ranks_in_node(factors);
  const std::vector<std::vector<GridAxis>> axes = grid_axes(factors, in_node);
  std::string text, nodes, ranks;
  bool several_ranks = false;
  const auto dim = [&](std::size_t axis, const std::string& name) {
    GridDim d;
    const Index factor = factors[axis];
    if (factor <= 1) return d;
    d.axes = axes[axis];
    text += (text.empty() ? "" : " x ") + name + ":" + std::to_string(factor);
    nodes += (nodes.empty() ? "" : "x") + std::to_string(factor / in_node[axis]);
    ranks += (ranks.empty() ? "" : "x") + std::to_string(in_node[axis]);
    several_ranks = several_ranks || in_node[axis] > 1;
    return d;
  };
  std::vector<GridDim> reduce_dims;
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    GridDim d;
    if (reduce_factor[k] > 1) d = dim(k, op_.labels[idx(op_.reduce[k].label)].name);
    reduce_dims.push_back(std::move(d));
  }
  for (std::size_t d = 0; d < out_factor.size(); ++d) {
    draft.dims.push_back(dim(reduce_factor.size() + d, name_of_dim(d)));
    if (!draft.dims.back().axes.empty()) draft.dims.back().q = contiguous(draft.tilings[d], out_factor[d]);
  }
  if (several_ranks) text += ", nodes " + nodes + " of " + ranks + " ranks";
  return spread(std::move(draft), out_factor, reduce_dims,
                "grid " + (text.empty() ? std::string("of one rank") : text));
}

Candidate PlacementBuilder::spread(Draft draft, const std::vector<Index>& out_shares,
                                   const std::vector<GridDim>& reduce_dims, std::string why) const {
  Index multiple = 1, used = 1, split_shares = 1;
  for (const Index f : out_shares) multiple = std::lcm(multiple, f), used *= f;
  if (multiple > 4096) multiple = 1;
  std::vector<Index> shares;
  for (const GridDim& dim : reduce_dims) shares.push_back(dim.size()), split_shares *= dim.size();
  // Panels aligned with the operands' tiles overlap better, but each costs a task.
  const double tile_points =
      points_of(op_) / static_cast<double>(std::max<Index>(tile_count(draft.tilings), 1) * split_shares);
  if (tile_points / static_cast<double>(multiple) < static_cast<double>(kPanelPoints)) multiple = 1;
  Index wanted = parts_wanted(tile_count(draft.tilings), used);
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    const Index factor = shares[k];
    GridDim dim = reduce_dims[k];
    if (cuts_) {
      if (factor > 1) dim.q = contiguous(Tiling::fixed(cuts_->reduce[k].parts(), 1), factor);
      draft.reduce.push_back(canonical(k, std::move(dim)));
      continue;
    }
    const Index shares_and_parts = std::lcm(multiple, factor) * (factor > 1 ? wanted : 1);
    Tiling tiling = factor > 1 ? panels(k, shares_and_parts) : whole_panels(k, shares_and_parts);
    if (factor > 1 && tiling.tiles() % factor != 0 && inputs_.tile.empty()) {  // an operand has a different cut
      tiling = even_panels(op_.reduce[k].label, shares_and_parts);
    }
    ReduceChoice choice{tiling, 0, {}};
    if (factor > 1) {
      dim.q = contiguous(tiling, factor);
      choice = split(tiling, dim, wanted);
      wanted = 1;
    } else if (wanted > 1 && tiling.tiles() > 1 && split_labels(shares) < op_.most_split_labels()) {
      choice = split(tiling, {}, wanted);
      wanted = 1;
    }
    draft.reduce.push_back(std::move(choice));
  }
  return build(std::move(draft), std::move(why));
}

void PlacementBuilder::adopt_tiles(Draft& draft) const {
  if (cuts_ || !inputs_.tile.empty()) return;
  std::vector<Index> largest(op_.shape.size(), 0);
  for (const Access& access : op_.reads) {
    const PlacedTensor* operand = operands_.placed(access.tensor);
    if (operand == nullptr || !operand->distribution.by_axes() || operand->distribution.home() != 0 ||
        operand->distribution.everywhere())
      continue;
    for (std::size_t o = 0; o < op_.shape.size(); ++o) {
      const OutSubscript& s = op_.out[o];
      if (s.label < 0 || s.coefficient != 1 || op_.is_uncut(o) || o < op_.tile.size()) continue;
      const int d = plain_dim(op_, access, s.label, operand->desc);
      if (d < 0 || operand->desc.shape[idx(d)] != op_.shape[o] || operand->desc.elements() <= largest[o]) continue;
      const GridDim& dim = operand->distribution.grid_dims()[idx(d)];
      const Tiling& tiling = operand->distribution.tiling(d);
      if (dim.axes != draft.dims[o].axes) continue;
      if (op_.op_class == OpClass::kContraction && tiling.longest() > 2 * longest_edge(s.label)) continue;
      // Parts may have larger tiles than their sum.
      if (op_.op_class == OpClass::kCombine && draft.dims[o].axes.empty() && tiling.tiles() < draft.tilings[o].tiles())
        continue;
      largest[o] = operand->desc.elements();
      draft.tilings[o] = tiling;
      draft.dims[o] = dim;
    }
  }
}

std::optional<Candidate> PlacementBuilder::realise(const Layout& work, const Mesh& mesh) const {
  const std::size_t rank = op_.shape.size();
  const std::string why = op_.op_class == OpClass::kLoop ? "a loop is one task, as planned" : "as planned";
  if (work.map) return realise(*work.map);
  if (work.cut.size() != rank + op_.reduce.size()) return std::nullopt;
  if (work.whole() && work.repeated) {
    return same_as(Distribution::replicated(inputs_.ranks, out_tilings(std::vector<Index>(rank, 1), 1, 1)), why);
  }
  if (work.whole()) return single(work.home, why);
  Draft draft;
  draft.repeat = repeat_axes(mesh, work);
  std::vector<Index> shares;
  Index used = 1;
  for (std::size_t d = 0; d < rank; ++d) shares.push_back(coordinates(mesh, work.cut[d])), used *= shares.back();
  std::vector<Index> reduce_shares;
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) reduce_shares.push_back(coordinates(mesh, work.cut[rank + k]));
  draft.tilings = out_tilings(list_tiles(shares, reduce_shares), inputs_.threads, used);
  for (std::size_t d = 0; d < rank; ++d) {
    if (draft.tilings[d].tiles() < shares[d]) return std::nullopt;
    draft.dims.push_back(grid_dim(mesh, work.cut[d]));
    if (shares[d] > 1) draft.dims.back().q = contiguous(draft.tilings[d], shares[d]);
  }
  std::vector<GridDim> reduce_dims;
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    const Index parts = cuts_ ? cuts_->reduce[k].parts() : op_.labels[idx(op_.reduce[k].label)].range.size();
    reduce_dims.push_back(grid_dim(mesh, work.cut[rank + k]));
    const Index factor = reduce_dims.back().size();
    const bool splits = op_.combine != Combine::kNone && op_.base < 0 && (k == 0 || !assembles(op_));
    if (factor > parts || (factor > 1 && !splits)) return std::nullopt;
  }
  adopt_tiles(draft);
  return spread(std::move(draft), shares, reduce_dims, why);
}

std::optional<Candidate> PlacementBuilder::inherit(const Access& access, const PlacedTensor& operand) const {
  const Distribution& from = operand.distribution;
  const std::optional<RankColumns>& columns = from.columns();
  if (from.by_table() || (cuts_ && columns)) return std::nullopt;
  if (from.copies() > 1)
    return std::nullopt;  // ranks of all copies but one would be idle, or all would repeat the work
  Draft draft;
  draft.home = from.home();
  std::vector<Index> multiple(op_.shape.size(), 1);
  if (assembles(op_)) multiple.front() = inputs_.ranks;
  draft.tilings = out_tilings(multiple, inputs_.threads, 1);
  draft.dims.resize(op_.shape.size());
  std::vector<int> taken(static_cast<std::size_t>(from.rank()), -1);  // output dimension or out_rank + reduce label
  const auto split_dim = [&](int d) {
    return columns ? d == columns->row_dim || d == columns->column_dim : !from.grid_dims()[idx(d)].axes.empty();
  };
  for (int o = 0; o < op_.out_rank(); ++o) {
    const OutSubscript& s = op_.out[idx(o)];
    if (s.label < 0 || s.coefficient != 1) continue;
    const int d = plain_dim(op_, access, s.label, operand.desc);
    if (d < 0 || operand.desc.shape[idx(d)] != op_.shape[idx(o)] || taken[idx(d)] >= 0 || op_.is_uncut(idx(o)))
      continue;
    taken[idx(d)] = o;
    if (!cuts_ && idx(o) >= op_.tile.size()) draft.tilings[idx(o)] = from.tiling(d);
    if (!columns) draft.dims[idx(o)] = from.grid_dims()[idx(d)];
    if (cuts_) draft.dims[idx(o)] = carried(draft.dims[idx(o)], from.tiling(d), draft.tilings[idx(o)]);
  }
  Index out_tiles = tile_count(draft.tilings);
  int splits = 0;
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    const int d = reduced_dim(op_, access, op_.reduce[k].label, operand.desc);
    ReduceChoice choice{whole_panels(k, 1), 0, {}};
    if (cuts_) {
      choice = canonical(k, {});
      if (d >= 0 && taken[idx(d)] < 0 && split_dim(d)) {
        if (choice.per_part == 0) return std::nullopt;
        taken[idx(d)] = op_.out_rank() + static_cast<int>(k);
        choice.grid = from.grid_dims()[idx(d)];
        choice.grid.q = from.tiling(d) == choice.tiling
                            ? std::max<Index>(1, choice.grid.q / choice.per_part)
                            : contiguous(Tiling::fixed(cuts_->reduce[k].parts(), 1), choice.grid.size());
      }
      draft.reduce.push_back(std::move(choice));
      continue;
    }
    if (d >= 0 && taken[idx(d)] < 0) {
      if (k > 0 && assembles(op_) && from.tiling(d).tiles() > 1) return std::nullopt;
      taken[idx(d)] = op_.out_rank() + static_cast<int>(k);
      if (split_dim(d) || !op_.moves) choice.tiling = from.tiling(d);
      if (split_dim(d)) {
        if (op_.combine == Combine::kNone || ++splits > op_.most_split_labels()) return std::nullopt;
        choice = columns ? ReduceChoice{choice.tiling, 1, {}}
                         : split(choice.tiling, from.grid_dims()[idx(d)], parts_wanted(out_tiles, 1));
      }
    }
    draft.reduce.push_back(std::move(choice));
  }
  for (int d = 0; d < from.rank(); ++d) {
    // Ranks that differ only along a dimension missing in the result would repeat work or be idle.
    if (split_dim(d) && taken[idx(d)] < 0) return std::nullopt;
  }
  if (columns) {
    draft.map =
        block_map({columns->ranks, columns->count, taken[idx(columns->row_dim)], taken[idx(columns->column_dim)]});
  }
  return build(std::move(draft), "as " + operand.desc.name);
}

Candidate PlacementBuilder::same_as(const Distribution& d, std::string why) const {
  Candidate c;
  c.op = op_;
  c.plan.space = d;
  c.plan.super_block.assign(op_.shape.size(), 0);
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) c.plan.reduce.push_back(whole_panels(k, 1));
  c.plan.why = std::move(why);
  place_leaves(c);
  return c;
}

std::vector<Tiling> PlacementBuilder::out_tilings(const std::vector<Index>& multiple, int threads, Index spread) const {
  if (cuts_) return cuts_->out;
  const bool by_stored = op_.outputs.size() == 1 && op_.outputs.front().sized();
  TileRequest request{by_stored ? cut_extents(op_.outputs.front()) : op_.shape, multiple,
                      op_.op_class == OpClass::kContraction, threads, spread};
  if (request.contraction && !op_.outputs.empty()) request.unit = tile_unit(inputs_, op_.outputs.front().element.bytes);
  for (const OutSubscript& s : op_.out)
    request.longest.push_back(s.label >= 0 ? longest_edge(s.label) : kContractionEdge);
  for (std::size_t d = 0; d < op_.shape.size(); ++d) request.uncut.push_back(op_.is_uncut(d));
  request.extents = op_.shape;
  request.thinnest = stream_.thinnest;
  request.bytes = stream_.bytes;
  request.flops = stream_.flops;
  request.seconds = seconds_ / std::max(1.0, elements_of(op_.shape));
  // A reduction that cannot be split can only be parallelised over its output.
  const bool whole = op_.combine == Combine::kNone || op_.base >= 0;
  for (const ReduceLabel& r : op_.reduce) {
    const Index extent = op_.labels[idx(r.label)].range.size();
    if (whole && extent > 0)
      request.depth = std::min(request.depth, kSmallTilePoints) * std::min(extent, kSmallTilePoints);
  }
  std::vector<Tiling> tilings = choose_tiles(request, op_.tile, inputs_);
  for (std::size_t d = 0; d < tilings.size(); ++d) {
    const OutSubscript& s = op_.out[d];
    if (op_.is_uncut(d)) {
      tilings[d] = Tiling::near_equal(op_.shape[d], 1);
    } else if (inputs_.tile.empty() && d >= op_.tile.size() && s.label >= 0 && s.coefficient == 1 &&
               tilings[d].tiles() > 1) {
      const RowCounts* const counts = counts_along(s.label);
      if (counts != nullptr && counts->rows == op_.shape[d]) tilings[d] = counts->cut(tilings[d].tiles());
    }
  }
  adopt_lists(multiple, tilings);
  return tilings;
}

Index PlacementBuilder::tile_count(const std::vector<Tiling>& tilings) {
  Index n = 1;
  for (const Tiling& t : tilings) n *= t.tiles();
  return n;
}

std::string PlacementBuilder::name_of_dim(std::size_t d) const {
  const int label = op_.out[d].label;
  return label >= 0 ? op_.labels[idx(label)].name : std::to_string(d);
}

}  // namespace tdsl::plan
