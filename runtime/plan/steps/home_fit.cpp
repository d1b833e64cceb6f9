#include "runtime/plan/steps/home_fit.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/plan/cost/cost_model.h"

// Note [Shapes of moves] A super-block of s x s tiles of a product C = A B reads s tiles of A and of B per panel, and
// each operand of n x n tiles n / s times: larger super-blocks read fewer bytes from disk but hold more.
//
//     super-block 2 x 2, panel 1:      A . . . .    B . b . .    C . . . .       holds 4 tiles of C, 2 of A, 2 of B
//                                        . a . .      . b . .      . c c .       and 4 more that arrive for panel 2
//                                        . a . .      . . . .      . c c .
//
// All shapes along each dimension that give distinct numbers of super-blocks are priced in closed form; if there are
// too many, an even selection.

namespace tdsl::plan {

namespace {

/// Number of shapes tried along a dimension, for few dimensions and for more.
constexpr std::size_t kManyEdges = 8, kFewEdges = 5;

class MoveFit {
 public:
  MoveFit(const Op& op, OpPlan& plan, const TensorLookup& tensors, double room, const PlanInputs& inputs)
      : op_(op),
        plan_(plan),
        tensors_(tensors),
        room_(room),
        inputs_(inputs),
        ranks_(rank_sample(plan.space, inputs.sample)) {}

  void run() {
    if (op_.shape.empty()) return;
    if (op_.reads.empty()) {  // tile by tile: nothing is read twice
      plan_.super_block.assign(op_.shape.size(), 1);
      return;
    }
    list_edges();
    while (!choose() && thinner()) {}
  }

 private:
  struct Shape {
    std::vector<Index> edges;
    double footprint = 0;
    double seconds = 0;
  };

  void list_edges() {
    edges_.assign(op_.shape.size(), {0});
    for (int d = 0; d < op_.out_rank(); ++d) {
      Index most = 1;
      if (plan_.space.by_table()) continue;
      for (const Index rank : ranks_)
        most = std::max(most, static_cast<Index>(plan_.space.owned_along(rank, d).size()));
      std::vector<Index> all{0};
      for (Index chunks = 2; chunks <= most; ++chunks) {
        if (const Index edge = ceil_div(most, chunks); edge != all.back()) all.push_back(edge);
      }
      const std::size_t few = std::min(all.size(), op_.out_rank() > 2 ? kFewEdges : kManyEdges);
      edges_[idx(d)].clear();
      for (std::size_t k = 0; k < few; ++k)
        edges_[idx(d)].push_back(all[few > 1 ? k * (all.size() - 1) / (few - 1) : 0]);
    }
  }

  [[nodiscard]] Shape priced(std::vector<Index> edges) {
    plan_.super_block = std::move(edges);
    Shape shape{plan_.super_block};
    for (const Index rank : ranks_) {
      const Cost cost = cost_of(op_, plan_, tensors_, rank, inputs_.machine, inputs_.threads);
      const double copies = inputs_.threads * assembled_bytes(op_, plan_, tensors_, rank);
      // The pieces of the next step arrive during the running step.
      shape.footprint = std::max(shape.footprint, cost.step_bytes.hi + cost.away_bytes + copies);
      ahead_ = std::max(ahead_, cost.step_bytes.hi);
      shape.seconds = std::max(shape.seconds, cost.seconds.hi);
    }
    return shape;
  }

  /// Takes the best shape that fits, or else the one with the smallest footprint. Returns whether it fits.
  bool choose() {
    std::optional<Shape> best, ahead, least;
    const auto better = [](const Shape& a, const std::optional<Shape>& b) {
      if (!b) return true;
      if (a.seconds < b->seconds * (1 - 1e-9)) return true;
      return a.seconds <= b->seconds * (1 + 1e-9) && a.footprint < b->footprint;
    };
    std::vector<std::size_t> at(edges_.size(), 0);
    while (true) {
      std::vector<Index> edges;
      for (std::size_t d = 0; d < at.size(); ++d) edges.push_back(edges_[d][at[d]]);
      ahead_ = 0;
      const Shape shape = priced(std::move(edges));
      if (shape.footprint + ahead_ <= room_ && better(shape, ahead)) ahead = shape;
      if (shape.footprint <= room_ && better(shape, best)) best = shape;
      if (!least || shape.footprint < least->footprint) least = shape;
      std::size_t d = 0;
      while (d < at.size() && ++at[d] == edges_[d].size()) at[d++] = 0;
      if (d == at.size()) break;
    }
    plan_.super_block = (ahead ? *ahead : best ? *best : *least).edges;
    return best.has_value();
  }

  /// Doubles the panels along the first reduction that allows it. Not under --reproducible: panels change the summation
  /// order.
  bool thinner() {
    if (inputs_.reproducible) return false;
    for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
      Tiling& panels = plan_.reduce[k];
      if (op_.reduce[k].part_dim >= 0 || panels.longest() <= 1 || panels.ends() != nullptr) continue;
      const Tiling old = panels;
      const double before = priced(plan_.super_block).footprint;
      panels = Tiling::near_equal(old.extent(), std::min(old.extent(), 2 * old.tiles()));
      if (priced(plan_.super_block).footprint < before) return true;
      panels = old;
    }
    return false;
  }

  const Op& op_;
  OpPlan& plan_;
  const TensorLookup& tensors_;
  double room_;
  const PlanInputs& inputs_;
  std::vector<Index> ranks_;
  std::vector<std::vector<Index>> edges_;  ///< per dimension; 0: all tiles
  double ahead_ = 0;
};

}  // namespace

bool moves_blocks(const Op& op, const OpPlan& plan, const TensorLookup& tensors) {
  const auto is_away = [&](TensorId id) { return id >= 0 && tensors(id).housing.home != Home::kMemory; };
  return plan.housing.home == Home::kDisk || is_away(op.base) ||
         std::ranges::any_of(op.reads, [&](const Access& access) { return is_away(access.tensor); });
}

void fit_moves(const Op& op, OpPlan& plan, const TensorLookup& tensors, double room, const PlanInputs& inputs) {
  MoveFit(op, plan, tensors, room, inputs).run();
}

}  // namespace tdsl::plan
