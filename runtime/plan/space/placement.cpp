#include "runtime/plan/space/placement.h"

#include <algorithm>
#include <numeric>

#include "runtime/plan/space/node_grid.h"
#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/tiles.h"

namespace tdsl::plan {

using parts::contiguous;
using parts::gathered_bytes;
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

double points_of(const Op& op) {
  double points = 1;
  for (const LabelDesc& label : op.labels) points *= label.from_data ? 1.0 : static_cast<double>(label.range.size());
  return points;
}

Index PlacementBuilder::parts_wanted(Index output_tiles, Index ranks_used) const {
  if (op_.combine == Combine::kNone || inputs_.threads == 1 || op_.most_split_labels() == 0 || op_.reduce.empty()) return 1;
  const Index mine = std::max<Index>(1, output_tiles / std::max<Index>(ranks_used, 1));
  if (mine >= inputs_.threads || points_of(op_) / static_cast<double>(ranks_used) < 1 << 18) return 1;
  return ceil_div(2 * inputs_.threads, mine);
}

ReduceChoice PlacementBuilder::canonical(std::size_t k, GridDim grid) const {
  const Cuts::Reduction& cut = cuts_->reduce[k];
  return {cut.tiling, cut.per_part, std::move(grid)};
}

GridDim PlacementBuilder::carried(GridDim dim, const Tiling& from, const Tiling& to) {
  if (!dim.axes.empty() && from != to) dim.q = contiguous(to, dim.size());
  return dim;
}

Tiling PlacementBuilder::panels(std::size_t k, Index multiple) const {
  if (cuts_) return cuts_->reduce[k].tiling;
  const int label = op_.reduce[k].label;
  const bool small = op_.labels[idx(label)].from_data && gathered_bytes(op_, label, operands_) < kGatherWhole;
  // Each panel of a gather runs over all points.
  if (small || (op_.labels[idx(label)].from_data && inputs_.ranks == 1)) return Tiling::near_equal(op_.labels[idx(label)].range.size(), 1);
  // Elements that do not commute meet in row-major order of the labels: only the first label may be cut.
  if (k > 0 && op_.combine == Combine::kNone && op_.op_class == OpClass::kReduce) {
    return Tiling::near_equal(op_.labels[idx(label)].range.size(), 1);
  }
  for (const Access& access : op_.reads) {
    const PlacedTensor* placed = operands_.placed(access.tensor);
    if (placed == nullptr) continue;
    const int d = reduced_dim(op_, access, label, placed->desc);
    if (d >= 0) return placed->distribution.tiling(d);
  }
  return choose_panels(op_.labels[idx(label)].range.size(), multiple, op_.op_class == OpClass::kContraction, inputs_.tile);
}

void PlacementBuilder::share_cuts(Layout& layout) const {
  if (cuts_) return;  // equal extents are cut alike
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
      const Tiling one = layout.tilings[d];
      const Tiling two = layout.tilings[e];
      if (op_.is_uncut(d) || op_.is_uncut(e)) continue;
      if (op_.out[d].label < 0 || op_.out[e].label < 0 || one == two || one.extent() != two.extent() || one.extent() == 0) continue;
      if (!near_equal(one) || !near_equal(two) || !twins(d, e)) continue;
      const Index most = std::max(one.tiles(), two.tiles());
      const Index fine = std::lcm(one.tiles(), two.tiles());
      const Tiling shared = Tiling::near_equal(one.extent(), fine <= 8 * most ? fine : most, std::min(one.unit(), two.unit()));
      for (const std::size_t k : {d, e}) {
        GridDim& dim = layout.dims[k];
        const Index old = layout.tilings[k].tiles();
        if (!dim.axes.empty()) dim.q = shared.tiles() % old == 0 ? dim.q * (shared.tiles() / old) : contiguous(shared, dim.size());
        layout.tilings[k] = shared;
      }
    }
  }
}

Candidate PlacementBuilder::build(Layout layout, std::string why) const {
  share_cuts(layout);
  Candidate c;
  c.op = op_;
  std::vector<Tiling> tilings;
  std::vector<GridDim> dims;
  Op partial = op_;
  std::vector<Index> parts_shape;
  std::vector<OutSubscript> parts_out;
  for (std::size_t k = 0; k < layout.reduce.size(); ++k) {
    const ReduceChoice& r = layout.reduce[k];
    if (r.per_part == 0) continue;
    const Index parts = std::max<Index>(1, ceil_div(r.tiling.tiles(), r.per_part));
    partial.reduce[k].part_dim = static_cast<int>(parts_shape.size());
    parts_shape.push_back(parts);
    parts_out.push_back({kPartLabel, 1, 0});
    tilings.push_back(Tiling::fixed(parts, 1));
    dims.push_back(r.grid);
  }
  c.partial = !parts_shape.empty();
  if (c.partial) {
    partial.shape.insert(partial.shape.begin(), parts_shape.begin(), parts_shape.end());
    partial.out.insert(partial.out.begin(), parts_out.begin(), parts_out.end());
    partial.tile.clear();
    for (TensorDesc& output : partial.outputs) {
      output.shape = partial.shape;
      output.name = "parts of " + output.name;
      output.id = -1;
    }
    c.op = std::move(partial);
  }
  tilings.insert(tilings.end(), layout.tilings.begin(), layout.tilings.end());
  dims.insert(dims.end(), layout.dims.begin(), layout.dims.end());
  if (layout.column_map) {
    c.plan.space = Distribution::column_map(inputs_.ranks, std::move(tilings), layout.columns);
  } else {
    c.plan.space = Distribution::grid(inputs_.ranks, std::move(tilings), std::move(dims), layout.home);
  }
  for (const ReduceChoice& r : layout.reduce) c.plan.reduce.push_back(r.tiling);
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
    ReduceChoice choice{panels(k, std::lcm(multiple, wanted)), 0, {}};
    if (wanted > 1 && choice.tiling.tiles() > 1) {
      choice = split(choice.tiling, {}, wanted);
      wanted = 1;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

Candidate PlacementBuilder::single(Index home, std::string why) const {
  Layout layout;
  layout.home = home;
  layout.tilings = out_tilings(std::vector<Index>(op_.shape.size(), 1), inputs_.threads, 1);
  layout.dims.resize(op_.shape.size());
  layout.reduce = unsplit(tile_count(layout.tilings), 1, 1);
  return build(std::move(layout), std::move(why));
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
    GridOperand operand{static_cast<double>(tensor.elements()) * static_cast<double>(tensor.element.bytes), {}};
    for (const ReduceLabel& r : op_.reduce) operand.along.push_back(varies_along(r.label));
    for (const OutSubscript& s : op_.out) operand.along.push_back(s.label >= 0 && varies_along(s.label));
    operands.push_back(std::move(operand));
  }
  return node_grid(factors, per_node, operands);
}

Candidate PlacementBuilder::grid(const std::vector<Index>& out_factor, const std::vector<Index>& reduce_factor) const {
  Layout layout;
  Index out_used = 1;
  for (Index f : out_factor) out_used *= f;
  layout.tilings = out_tilings(out_factor, inputs_.threads, out_used);
  // The parts' axes come first in the rank number.
  std::vector<Index> factors = reduce_factor;
  factors.insert(factors.end(), out_factor.begin(), out_factor.end());
  const std::vector<Index> in_node = ranks_in_node(factors);
  const std::vector<std::vector<GridAxis>> axes = grid_axes(factors, in_node);
  std::string text, nodes, ranks;
  bool several_ranks = false;
  const auto dim = [&](std::size_t axis, const Tiling& tiling, const std::string& name) {
    GridDim d;
    const Index factor = factors[axis];
    if (factor <= 1) return d;
    d.axes = axes[axis];
    d.q = contiguous(tiling, factor);
    text += (text.empty() ? "" : " x ") + name + ":" + std::to_string(factor);
    nodes += (nodes.empty() ? "" : "x") + std::to_string(factor / in_node[axis]);
    ranks += (ranks.empty() ? "" : "x") + std::to_string(in_node[axis]);
    several_ranks = several_ranks || in_node[axis] > 1;
    return d;
  };
  Index multiple = 1;
  for (Index f : out_factor) multiple = std::lcm(multiple, f);
  if (multiple > 4096) multiple = 1;
  double tile_points = points_of(op_) / static_cast<double>(std::max<Index>(tile_count(layout.tilings), 1));
  for (Index f : reduce_factor) tile_points /= static_cast<double>(f);
  // Panels cut as the operands are overlap better, but each of them is a task more.
  if (tile_points / static_cast<double>(multiple) < static_cast<double>(kPanelPoints)) multiple = 1;
  Index wanted = parts_wanted(tile_count(layout.tilings), out_used);
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    const Index factor = reduce_factor[k];
    if (cuts_) {
      const Tiling parts = Tiling::fixed(cuts_->reduce[k].parts(), 1);
      layout.reduce.push_back(canonical(k, dim(k, parts, op_.labels[idx(op_.reduce[k].label)].name)));
      continue;
    }
    const Tiling tiling = panels(k, std::lcm(multiple, factor) * (factor > 1 ? wanted : 1));
    ReduceChoice choice{tiling, 0, {}};
    if (factor > 1) {
      choice = split(tiling, dim(k, tiling, op_.labels[idx(op_.reduce[k].label)].name), wanted);
      wanted = 1;
    } else if (wanted > 1 && tiling.tiles() > 1 && split_labels(reduce_factor) < op_.most_split_labels()) {
      choice = split(tiling, {}, wanted);
      wanted = 1;
    }
    layout.reduce.push_back(std::move(choice));
  }
  for (std::size_t d = 0; d < out_factor.size(); ++d) {
    layout.dims.push_back(dim(reduce_factor.size() + d, layout.tilings[d], name_of_dim(d)));
  }
  if (several_ranks) text += ", nodes " + nodes + " of " + ranks + " ranks";
  return build(std::move(layout), "grid " + (text.empty() ? std::string("of one rank") : text));
}

Candidate PlacementBuilder::column_map(int row_dim, int column_dim, Index columns) const {
  Layout layout;
  const Index p = inputs_.ranks;
  const Index low = p / columns;
  std::vector<Index> multiple(op_.shape.size(), 1);
  multiple[idx(row_dim)] = p % columns == 0 ? low : low * (low + 1);
  multiple[idx(column_dim)] = p;
  layout.tilings = out_tilings(multiple, inputs_.threads, p);
  layout.dims.resize(op_.shape.size());
  layout.column_map = true;
  layout.columns = {columns, row_dim, column_dim};
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    layout.reduce.push_back({panels(k, p * multiple[idx(row_dim)] > 4096 ? p : std::lcm(p, multiple[idx(row_dim)])), 0, {}});
  }
  return build(std::move(layout), std::to_string(columns) + " columns of ranks");
}

std::optional<Candidate> PlacementBuilder::inherit(const Access& access, const PlacedTensor& operand) const {
  const Distribution& from = operand.distribution;
  if (cuts_ && from.kind() != Distribution::Kind::kGrid) return std::nullopt;
  if (from.kind() != Distribution::Kind::kGrid && from.kind() != Distribution::Kind::kColumnMap) return std::nullopt;
  Layout layout;
  layout.home = from.home();
  layout.tilings = out_tilings(std::vector<Index>(op_.shape.size(), 1), inputs_.threads, 1);
  layout.dims.resize(op_.shape.size());
  std::vector<int> taken(static_cast<std::size_t>(from.rank()), -1);  // output dimension or out_rank + reduce label
  const auto split_dim = [&](int d) {
    return from.kind() == Distribution::Kind::kColumnMap ? d == from.columns().row_dim || d == from.columns().column_dim
                                                        : !from.grid_dims()[idx(d)].axes.empty();
  };
  for (int o = 0; o < op_.out_rank(); ++o) {
    const OutSubscript& s = op_.out[idx(o)];
    if (s.label < 0 || s.coefficient != 1) continue;
    const int d = plain_dim(op_, access, s.label, operand.desc);
    if (d < 0 || operand.desc.shape[idx(d)] != op_.shape[idx(o)] || taken[idx(d)] >= 0 || op_.is_uncut(idx(o))) continue;
    taken[idx(d)] = o;
    if (!cuts_ && idx(o) >= op_.tile.size()) layout.tilings[idx(o)] = from.tiling(d);
    if (from.kind() == Distribution::Kind::kGrid) layout.dims[idx(o)] = from.grid_dims()[idx(d)];
    if (cuts_) layout.dims[idx(o)] = carried(layout.dims[idx(o)], from.tiling(d), layout.tilings[idx(o)]);
  }
  Index out_tiles = tile_count(layout.tilings);
  int splits = 0;
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    const int d = reduced_dim(op_, access, op_.reduce[k].label, operand.desc);
    ReduceChoice choice{panels(k, 1), 0, {}};
    if (cuts_) {
      choice = canonical(k, {});
      if (d >= 0 && taken[idx(d)] < 0 && split_dim(d)) {
        if (choice.per_part == 0) return std::nullopt;
        taken[idx(d)] = op_.out_rank() + static_cast<int>(k);
        choice.grid = from.grid_dims()[idx(d)];
        choice.grid.q = from.tiling(d) == choice.tiling ? std::max<Index>(1, choice.grid.q / choice.per_part)
                                                        : contiguous(Tiling::fixed(cuts_->reduce[k].parts(), 1), choice.grid.size());
      }
      layout.reduce.push_back(std::move(choice));
      continue;
    }
    if (d >= 0 && taken[idx(d)] < 0) {
      taken[idx(d)] = op_.out_rank() + static_cast<int>(k);
      choice.tiling = from.tiling(d);
      if (split_dim(d)) {
        if (op_.combine == Combine::kNone || ++splits > op_.most_split_labels()) return std::nullopt;
        if (from.kind() == Distribution::Kind::kColumnMap) {
          choice.per_part = 1;
        } else {
          choice = split(choice.tiling, from.grid_dims()[idx(d)], parts_wanted(out_tiles, 1));
        }
      }
    }
    layout.reduce.push_back(std::move(choice));
  }
  for (int d = 0; d < from.rank(); ++d) {
    // Ranks that differ only along a dimension the result lacks would repeat work or sit idle.
    if (split_dim(d) && taken[idx(d)] < 0) return std::nullopt;
  }
  if (from.kind() == Distribution::Kind::kColumnMap) {
    Index parts = 0;
    std::vector<int> part_of(op_.reduce.size(), -1);
    for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
      if (layout.reduce[k].per_part > 0) part_of[k] = static_cast<int>(parts++);
    }
    const auto target = [&](int d) {
      const int t = taken[idx(d)];
      return t < op_.out_rank() ? t + static_cast<int>(parts) : part_of[idx(t - op_.out_rank())];
    };
    layout.column_map = true;
    layout.columns = {from.columns().columns, target(from.columns().row_dim), target(from.columns().column_dim)};
    if (layout.columns.row_dim < 0 || layout.columns.column_dim < 0) return std::nullopt;
  }
  return build(std::move(layout), "as " + operand.desc.name);
}

Candidate PlacementBuilder::same_as(const Distribution& d, std::string why) const {
  Candidate c;
  c.op = op_;
  c.plan.space = d;
  c.plan.super_block.assign(op_.shape.size(), 0);
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) c.plan.reduce.push_back(panels(k, 1));
  c.plan.why = std::move(why);
  place_leaves(c);
  return c;
}

std::vector<Tiling> PlacementBuilder::out_tilings(const std::vector<Index>& multiple, int threads, Index spread) const {
  if (cuts_) return cuts_->out;
  TileRequest request{op_.shape, multiple, op_.op_class == OpClass::kContraction, threads, spread};
  if (request.contraction && !op_.outputs.empty()) request.unit = tile_unit(inputs_, op_.outputs.front().element.bytes);
  // A reduction that cannot be made in parts has nothing but its output to be shared by.
  const bool whole = op_.combine == Combine::kNone || op_.base >= 0;
  for (const ReduceLabel& r : op_.reduce) {
    const Index extent = op_.labels[idx(r.label)].range.size();
    if (whole && extent > 0) request.depth = std::min(request.depth, kSmallTilePoints) * std::min(extent, kSmallTilePoints);
  }
  std::vector<Tiling> tilings = choose_tiles(request, op_.tile, inputs_);
  for (std::size_t d = 0; d < tilings.size(); ++d) {
    if (op_.is_uncut(d)) tilings[d] = Tiling::near_equal(op_.shape[d], 1);
  }
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
