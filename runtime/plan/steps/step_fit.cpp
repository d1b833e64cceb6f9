#include "runtime/plan/steps/step_fit.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "runtime/plan/space/block_map.h"

namespace tdsl::plan {

// Note [Window] The remote boxes of one step must fit half the window (so that the next step's can arrive meanwhile)
// or, together with assembled operands, the whole window if the user has set it. First the panels get thinner: no byte
// is fetched twice. Then output tiles are grouped into super-blocks, along the dimensions where that shrinks steps.
// Operands of which several super-blocks need the same boxes may be kept (OpPlan::kept), which leaves less room for
// others: super-blocks are cut with no operand kept, with each one, and with all; of the results that fit the one that
// receives the fewest bytes is taken. Operands that are not kept are fetched again; the cost model accounts for that.
//
//     P[i, a] = sum[j](W[i, j] * V[j, a]) + U[i, a], W compressed and local:
//     kept    super-blocks of    a step holds                       fetched again
//     none    rows or columns    columns of V, rows of U            V and U
//     V       rows               V, which all rows need, rows of U  nothing
//     U       columns            columns of V, U                    nothing

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// Shrinks the steps of one operation.
class StepFit {
 public:
  StepFit(const Op& op, OpPlan& plan, const TensorLookup& tensors, double limit, const PlanInputs& inputs)
      : op_(op),
        plan_(plan),
        tensors_(tensors),
        limit_(limit),
        inputs_(inputs),
        fullest_(fullest_of(plan.space)),
        largest_(largest_step()) {}

  void run() {
    if (largest_ <= limit_) return;
    if (!plan_.kept.empty()) {
      plan_.kept.clear();
      largest_ = largest_step();
    }
    // Thinner panels change the summation order.
    if (!inputs_.reproducible) thinner_panels();
    if (largest_ > limit_) keep_operands();
  }

 private:
  void thinner_panels() {
    for (bool changed = true; changed && largest_ > limit_;) {
      changed = false;
      for (std::size_t k = 0; k < op_.reduce.size() && largest_ > limit_; ++k) changed = halve_panels(k) || changed;
    }
  }

  void super_blocks() {
    if (op_.shape.empty()) return;
    const std::vector<Index> most = most_tiles();
    std::vector<bool> helps(most.size(), true);
    while (largest_ > limit_) {
      std::size_t widest = most.size();
      Index edge = 1;
      for (std::size_t d = 0; d < most.size(); ++d) {
        const Index current = plan_.super_block[d] > 0 ? plan_.super_block[d] : most[d];
        if (helps[d] && current > edge) widest = d, edge = current;
      }
      if (widest == most.size()) break;
      helps[widest] = halve_super_blocks(widest, edge);
    }
  }

  /// Halves the super-blocks along a dimension until the largest step shrinks. Without such a size nothing changes.
  bool halve_super_blocks(std::size_t d, Index edge) {
    const Index old = plan_.super_block[d];
    // A limit that the user has not set is not worth many super-blocks.
    const double least_gain = is_limited() ? 0 : (largest_ - limit_) / 16;
    while (edge > 1) {
      edge = (edge + 1) / 2;
      plan_.super_block[d] = edge;
      const double now = largest_step();
      if (now < largest_ - least_gain) {
        largest_ = now;
        return true;
      }
    }
    plan_.super_block[d] = old;
    return false;
  }

  /// Super-blocks with some of the operands kept.
  struct Fit {
    std::vector<bool> kept;
    std::vector<Index> super_block;
    double step = 0;
    double received = 0;  ///< mean over ranks
  };

  [[nodiscard]] Fit fit_keeping(const std::vector<bool>& kept, const std::vector<Index>& super_block) {
    plan_.kept = kept;
    plan_.super_block = super_block;
    largest_ = largest_step();
    const bool all = !kept.empty() && std::ranges::all_of(kept, [](bool stays) { return stays; });
    if (!all) super_blocks();  // steps with everything in them do not shrink
    return {kept, plan_.super_block, largest_, received()};
  }

  /// Takes the fit with the fewest received bytes of those whose steps fit, or are about as small as the smallest.
  void keep_operands() {
    const std::vector<Index> super_block = plan_.super_block;
    plan_.super_block.assign(super_block.size(), 0);
    const double once = received();
    std::vector<Fit> fits{fit_keeping({}, super_block)};
    double least = fits.front().step;
    if (fits.front().received > once) {
      for (const std::vector<bool>& kept : kept_sets()) {
        fits.push_back(fit_keeping(kept, super_block));
        least = std::min(least, fits.back().step);
      }
    }
    // A limit that the user has not set is not worth fetching again.
    const double slack = is_limited() ? 1 + 1e-9 : 1.25;
    const double most = std::max(limit_, slack * least);
    const Fit* best = nullptr;
    for (const Fit& fit : fits) {
      if (fit.step <= most && (best == nullptr || fit.received < best->received * (1 - 1e-9))) best = &fit;
    }
    const bool whole = std::ranges::all_of(best->super_block, [](Index edge) { return edge <= 0; });
    plan_.kept = whole ? std::vector<bool>{} : best->kept;
    plan_.super_block = best->super_block;
    largest_ = best->step;
  }

  /// Each of the largest operands in memory, and all of them.
  [[nodiscard]] std::vector<std::vector<bool>> kept_sets() const {
    constexpr std::size_t kMostOperands = 4;
    std::vector<TensorId> operands;
    for (const Access& access : op_.reads) {
      const bool listed = std::ranges::find(operands, access.tensor) != operands.end();
      if (!listed && tensors_(access.tensor).housing.home == Home::kMemory) operands.push_back(access.tensor);
    }
    std::ranges::stable_sort(operands, std::ranges::greater(), [&](TensorId id) { return tensors_(id).desc.bytes(); });
    operands.resize(std::min(operands.size(), kMostOperands));
    std::vector<std::vector<bool>> sets;
    std::vector<bool> all(op_.reads.size(), false);
    for (const TensorId id : operands) {
      sets.emplace_back(op_.reads.size(), false);
      for (std::size_t a = 0; a < op_.reads.size(); ++a) {
        if (op_.reads[a].tensor == id) sets.back()[a] = all[a] = true;
      }
    }
    if (operands.size() > 1) sets.push_back(std::move(all));
    return sets;
  }

  /// True if the limit is the user's.
  [[nodiscard]] bool is_limited() const { return inputs_.window > 0 || inputs_.memory > 0; }

  [[nodiscard]] double received() const { return costs().mean_bytes; }

  /// Steps of owner tables are listed one by one, which takes long: under a limit that the user has not set, only the
  /// fullest rank's are.
  [[nodiscard]] CostSummary costs() const {
    if (is_limited() || !plan_.space.by_table())
      return summarise(op_, plan_, tensors_, inputs_.machine, inputs_.threads, inputs_.sample);
    const Cost cost = cost_of(op_, plan_, tensors_, fullest_, inputs_.machine, inputs_.threads);
    CostSummary sum;
    sum.mean_bytes = cost.bytes_expected;
    sum.max_step = cost.step_bytes.hi;
    sum.expected_step = cost.step_bytes.expected;
    return sum;
  }

  /// The rank with the most tiles of an owner table.
  [[nodiscard]] static Index fullest_of(const Distribution& space) {
    Index fullest = 0;
    for (Index rank = 1; space.by_table() && rank < space.ranks(); ++rank)
      fullest = space.owned_tiles(rank) > space.owned_tiles(fullest) ? rank : fullest;
    return fullest;
  }

  /// Assembled operands count if the user limits a step with --window; --memory adds them itself.
  [[nodiscard]] double largest_step() const {
    if (inputs_.window > 0) return plan::largest_step(op_, plan_, tensors_, inputs_);
    const CostSummary cost = costs();
    return inputs_.memory > 0 ? cost.max_step : cost.expected_step;
  }

  [[nodiscard]] double tasks() const {
    double count = static_cast<double>(plan_.space.tile_count());
    for (const Tiling& panels : plan_.reduce) count *= static_cast<double>(std::max<Index>(panels.tiles(), 1));
    return count;
  }

  /// Halves every tile.
  [[nodiscard]] static Tiling halves(const Tiling& old) {
    std::vector<Index> ends;
    for (Index t = 0; t < old.tiles(); ++t) {
      const Interval tile = old.tile(t);
      if (tile.size() > 1) ends.push_back(tile.lo + tile.size() / 2);
      ends.push_back(tile.hi);
    }
    return Tiling::at(ends);
  }

  /// Doubles the panels along reduction `k`, if that helps.
  bool halve_panels(std::size_t k) {
    const Tiling old = plan_.reduce[k];
    if (op_.reduce[k].part_dim >= 0 || old.longest() <= 1) return false;
    if (plan_.space.by_table() && 2 * tasks() > kTableTasks) return false;
    plan_.reduce[k] =
        old.ends() != nullptr ? halves(old) : Tiling::near_equal(old.extent(), std::min(old.extent(), 2 * old.tiles()));
    const double thinner = largest_step();
    if (thinner >= largest_) {
      plan_.reduce[k] = old;
      return false;
    }
    largest_ = thinner;
    return true;
  }

  /// The most tiles that a rank (sampled if there are many) owns along each dimension; for an owner table, the length
  /// of its list, as the first number.
  [[nodiscard]] std::vector<Index> most_tiles() const {
    std::vector<Index> most(op_.shape.size(), 1);
    const Index stride = std::max<Index>(1, inputs_.ranks / 64);
    if (plan_.space.by_table()) {
      for (Index rank = 0; rank < inputs_.ranks; rank += stride)
        most.front() = std::max(most.front(), plan_.space.owned_tiles(rank));
      return most;
    }
    for (int d = 0; d < op_.out_rank(); ++d) {
      Index& tiles = most[static_cast<std::size_t>(d)];
      for (Index rank = 0; rank < inputs_.ranks; rank += stride) {
        tiles = std::max(tiles, static_cast<Index>(plan_.space.owned_along(rank, d).size()));
      }
    }
    return most;
  }

  const Op& op_;
  OpPlan& plan_;
  const TensorLookup& tensors_;
  double limit_;
  const PlanInputs& inputs_;
  Index fullest_;
  double largest_;
};

/// True if all operands together are so small that no step approaches the limit, even with overlapping boxes.
bool is_small(const Op& op, const TensorLookup& tensors, double limit) {
  constexpr double kOverlap = 8;
  double bytes = 0;
  for (const Access& access : op.reads) bytes += static_cast<double>(tensors(access.tensor).desc.bytes());
  return kOverlap * bytes <= limit;
}

}  // namespace

double received_share(double owned) { return std::max(64 * kMiB, 0.2 * owned); }

double largest_step(const Op& op, const OpPlan& plan, const TensorLookup& tensors, const PlanInputs& inputs) {
  double copies = 0;
  for (const Index rank : rank_sample(plan.space, inputs.sample))
    copies = std::max(copies, assembled_bytes(op, plan, tensors, rank));
  return summarise(op, plan, tensors, inputs.machine, inputs.threads, inputs.sample).expected_step +
         inputs.threads * copies;
}

double step_limit(const Op& op, const TensorLookup& tensors, const PlanInputs& inputs) {
  if (inputs.window > 0) return static_cast<double>(inputs.window);
  double owned = 0;
  for (const Access& access : op.reads) {
    const PlacedTensor& t = tensors(access.tensor);
    owned += static_cast<double>(t.desc.bytes()) / static_cast<double>(inputs.ranks);
  }
  return received_share(owned) / 2;
}

Estimate received_at_once(const Op& op, const OpPlan& plan, const Cost& cost, const TensorLookup& tensors, Index rank,
                          const PlanInputs& inputs) {
  const bool again = std::ranges::any_of(op.reads, [&](const Access& access) {
    return std::any_of(op.reads.data(), &access,
                       [&](const Access& earlier) { return earlier.tensor == access.tensor; });
  });
  if (!again) return cost.step_bytes;
  Estimate all{0, cost.bytes_expected, cost.bytes_received.hi};
  if (std::ranges::any_of(plan.super_block, [](Index edge) { return edge > 0; })) {
    OpPlan together = plan;
    std::fill(together.super_block.begin(), together.super_block.end(), 0);
    const Cost once = cost_of(op, together, tensors, rank, inputs.machine, inputs.threads);
    all = {0, std::min(all.expected, once.bytes_expected), std::min(all.hi, once.bytes_received.hi)};
  }
  return {cost.step_bytes.lo, std::max(cost.step_bytes.expected, all.expected), std::max(cost.step_bytes.hi, all.hi)};
}

void fit_steps(const Op& op, OpPlan& plan, const TensorLookup& tensors, double limit, const PlanInputs& inputs) {
  if (inputs.window == 0 && is_small(op, tensors, limit)) return;
  StepFit(op, plan, tensors, limit, inputs).run();
}

}  // namespace tdsl::plan
