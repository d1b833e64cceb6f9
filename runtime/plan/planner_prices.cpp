// Criteria for choosing between the candidates of an operation: time, and bytes above the memory limit.

#include <algorithm>
#include <memory>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/space/candidates.h"
#include "runtime/plan/steps/home_fit.h"
#include "runtime/plan/steps/step_fit.h"

namespace tdsl::plan {

namespace {

/// Elements of the combined result of a partial operation.
Index recorded_elements(const Op& partial) {
  Index n = 1;
  for (std::size_t d = 0; d < partial.shape.size(); ++d) n *= partial.out[d].label == kPartLabel ? 1 : partial.shape[d];
  return n;
}

/// The layouts that a candidate introduces.
std::vector<const Distribution*> spaces_of(const Candidate& c) {
  std::vector<const Distribution*> spaces{&c.plan.space};
  for (const auto& [id, where] : c.leaves) spaces.push_back(&where);
  return spaces;
}

}  // namespace

/// Bytes a rank holds during the operation, excluding its results, minus the results' non-resident bytes.
double Planner::held_beside(const Candidate& c, bool frees_base, const TensorLookup& tensors,
                            const ResidentBytes& resident) const {
  double held = resident.live();
  for (const TensorDesc& output : c.op.outputs)
    held -= counting::away_bytes(output, c.plan.space, c.plan.housing, resident.rank());
  for (const auto& [id, where] : c.leaves)
    held += counting::resident_bytes(tensors(id).desc, where, tensors(id).housing, resident.rank()).hi;
  if (frees_base && updates_in_place(c.op, c.plan)) held -= resident.owned(c.op.base);
  return held;
}

/// Bytes by which the operation, run after everything before it, exceeds the memory limit on the worst rank; negative:
/// free memory.
double Planner::excess(const Candidate& c, bool frees_base, const TensorLookup& tensors) const {
  double worst = -9e18;
  resident_.for_each(spaces_of(c), [&](const ResidentBytes& resident) {
    const Cost cost = cost_of(c.op, c.plan, tensors, resident.rank(), inputs_.machine, inputs_.threads);
    double held = held_beside(c, frees_base, tensors, resident) + cost.output_bytes.hi + cost.away_bytes;
    held += received_at_once(c.op, c.plan, cost, tensors, resident.rank(), inputs_).hi;
    held += inputs_.threads * assembled_bytes(c.op, c.plan, tensors, resident.rank());
    worst = std::max(worst, held - static_cast<double>(inputs_.memory));
  });
  // Partial results live until their combination is complete.
  if (c.partial) {
    const TensorDesc& parts = c.op.outputs.front();
    const double bytes = parts.sized()
                             ? static_cast<double>(parts.bytes())
                             : static_cast<double>(parts.element.bytes) * static_cast<double>(recorded_elements(c.op));
    worst += bytes / static_cast<double>(inputs_.ranks);
  }
  return worst;
}

/// Reduces step sizes while the operation exceeds the memory limit.
void Planner::fit_memory(Candidate& c, bool frees_base, const TensorLookup& tensors) const {
  if (moves_blocks(c.op, c.plan, tensors)) {
    double room = static_cast<double>(inputs_.window > 0 ? std::min(inputs_.window, inputs_.memory) : inputs_.memory);
    resident_.for_each(spaces_of(c), [&](const ResidentBytes& resident) {
      double held = held_beside(c, frees_base, tensors, resident);
      for (const TensorDesc& output : c.op.outputs)
        held += counting::owned_bytes(output, c.plan.space, resident.rank()).hi;
      room = std::min(room, static_cast<double>(inputs_.memory) - held);
    });
    return fit_moves(c.op, c.plan, tensors, room, inputs_);
  }
  const double above = excess(c, frees_base, tensors);
  if (above <= 0) return;
  const double step = summarise(c.op, c.plan, tensors, inputs_.machine, inputs_.threads, inputs_.sample).max_step;
  fit_steps(c.op, c.plan, tensors, std::max(1.0, step - above), inputs_);
}

/// Extra time for combining partial results: each owner of a slab of the result pulls it from every part's rank.
double Planner::seconds_to_combine(const Op& op, const Op& partial, double seconds) const {
  const auto bytes_of = [](const Op& made) {
    double bytes = 0;
    for (const TensorDesc& output : made.outputs) bytes += static_cast<double>(output.bytes());
    return bytes;
  };
  const double out_bytes = bytes_of(op), all_bytes = bytes_of(partial);
  const auto ranks = static_cast<double>(inputs_.ranks);
  const double share = std::min(ranks, std::max(1.0, out_bytes / 8192));
  const Machine& machine = inputs_.machine;
  seconds += all_bytes / share * (1 / machine.bandwidth + 2 / machine.stream_rate) + machine.latency +
             machine.exchange_overhead;
  if (inputs_.tells_nodes()) {
    const auto per_node = static_cast<double>(inputs_.ranks_per_node);
    const double far = all_bytes / share * (1 - per_node / ranks);
    const double alike = seconds_of({all_bytes / share, 1, false, 0, 0}, machine);
    seconds += seconds_of({all_bytes / share, 1, true, far, far * std::min(share, per_node)}, machine) - alike;
  }
  // Partial results are held in addition to operands and result, like the window.
  double owned = out_bytes;
  for (const Access& access : op.reads) {
    const PlacedTensor* operand = placed(access.tensor);
    owned += static_cast<double>((operand != nullptr ? operand->desc : described(access.tensor)).bytes());
  }
  const double allowed = inputs_.window > 0 ? static_cast<double>(inputs_.window) : received_share(owned / ranks);
  return all_bytes / ranks > allowed ? seconds * 1e3 : seconds;
}

/// Tensor lookup that includes the candidate's layouts for waiting sources.
TensorLookup Planner::lookup_with(const Candidate& c) const {
  auto assumed = std::make_shared<std::unordered_map<TensorId, PlacedTensor>>();
  for (const auto& [id, where] : c.leaves)
    assumed->emplace(id, PlacedTensor{described(id), where, housing_of(*waiting_source(id))});
  return [this, assumed](TensorId id) -> const PlacedTensor& {
    const auto found = assumed->find(id);
    return found != assumed->end() ? found->second : tensor(id);
  };
}

/// Fits the candidate's steps into the memory limit and returns its price; `alone`: there are no other candidates.
Planner::Price Planner::price(Candidate& c, const Op& op, bool frees_base, bool alone) const {
  const TensorLookup tensors = lookup_with(c);
  if (!c.partial) house(c.op, c.plan);
  Price price;
  if (!resident_.empty()) {
    fit_memory(c, frees_base, tensors);
    price.excess = std::max(0.0, excess(c, frees_base, tensors));
  }
  if (alone) return price;
  c.plan.ranks_per_node = inputs_.ranks_per_node;
  price.seconds = summarise(c.op, c.plan, tensors, inputs_.machine, inputs_.threads, inputs_.sample).max_seconds;
  if (c.partial) price.seconds = seconds_to_combine(op, c.op, price.seconds);
  return price;
}

}  // namespace tdsl::plan
