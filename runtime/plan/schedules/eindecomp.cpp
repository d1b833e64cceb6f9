#include <algorithm>
#include <utility>

#include "runtime/plan/region/choices.h"
#include "runtime/plan/schedules/combined_pieces.h"
#include "runtime/plan/schedules/einsum_costs.h"
#include "runtime/plan/schedules/placed_tasks.h"
#include "runtime/plan/schedules/schedule.h"

// EinDecomp and its baseline. A partition vector becomes a plan: call (c0, c1, ..) of the task space, result
// dimensions first, runs on rank c0 d1 d2 .. + c1 d2 .. + .., and the partial results of a block are combined by its
// first caller, or in pieces by all callers (combined_pieces.h). Sources are placed by their readers. Four ranks, C[i,
// k] = sum[j](A[i, j] * B[j, k]):
//
//     i:2 k:2 j:1     cyclic 2x2 on 2x2
//     i:2 k:1 j:2     cyclic 2x1x2 on 2x1x2 -> cyclic 2x1 on 2x2

namespace tdsl::plan {

namespace {

/// Calls a part of the result per slot in row-major order.
template <class F>
void for_each_part(const PartitionVector& parts, F&& f) {
  std::vector<Index> at(parts.size(), 0);
  for (bool more = true; more;) {
    f(std::as_const(at));
    more = false;
    for (std::size_t s = parts.size(); s-- > 0 && !more;) {
      more = ++at[s] < parts[s];
      if (!more) at[s] = 0;
    }
  }
}

/// A partition vector as a decision.
class PartsDecision {
 public:
  PartsDecision(const Op& op, const PlanInputs& inputs, PartitionVector parts)
      : op_(op), inputs_(inputs), space_(task_space(op, inputs)), parts_(std::move(parts)) {}

  [[nodiscard]] Decision decision() const {
    const std::size_t rank = op_.shape.size();
    const PartitionVector result(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(rank));
    Index summed = 1;
    for (std::size_t s = rank; s < parts_.size(); ++s) summed *= parts_[s];
    const auto text = [&](BlockOwners of, const std::vector<std::string>& names) {
      return text_of(block_layout(std::move(of.blocks), std::move(of.owners), names.size(), inputs_.ranks), names);
    };
    BlockOwners results = owners(result, summed);
    if (summed == 1) return {name_of(op_.op_class), op_.name, text(std::move(results), result_names(op_)), {}, {}};
    BlockOwners calls = owners(parts_, 1);
    results = combined_in_pieces(op_, std::move(results), calls.owners, inputs_);
    return {name_of(op_.op_class),
            op_.name,
            text(std::move(calls), slot_names(op_)),
            text(std::move(results), result_names(op_)),
            {}};
  }

 private:
  /// Blocks along a slot: its parts, or prescribed tiles that the parts do not consist of in equal numbers.
  [[nodiscard]] Index blocks_along(std::size_t s, Index parts) const {
    const std::optional<Tiling>& tiling = space_.tilings[s];
    return tiling && parts > 1 && tiling->tiles() % parts != 0 ? tiling->tiles() : parts;
  }

  /// `apart`: difference between the numbers of neighbouring parts' ranks.
  [[nodiscard]] BlockOwners owners(const PartitionVector& parts, Index apart) const {
    BlockOwners result;
    Index count = 1;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      result.blocks.push_back(blocks_along(s, parts[s]));
      count *= result.blocks.back();
      if (count > kWorkflowTasks)
        throw NoPlan("the plan names the owners of more than " + std::to_string(kWorkflowTasks) +
                     " blocks; a larger --tile gives fewer");
    }
    for_each_part(result.blocks, [&](const std::vector<Index>& at) {
      Index rank = 0;
      for (std::size_t s = 0; s < parts.size(); ++s) rank = rank * parts[s] + at[s] * parts[s] / result.blocks[s];
      result.owners.push_back(static_cast<std::int32_t>(rank * apart % inputs_.ranks));
    });
    return result;
  }

  const Op& op_;
  const PlanInputs& inputs_;
  counting::CutSpace space_;
  PartitionVector parts_;
};

/// A plan with these partition vectors, one per site.
PlanValue plan_of_parts(const Planning& planning, const EinsumCosts& costs, const std::vector<PartitionVector>& parts) {
  PlanValue plan;
  plan.region = planning.region.hash;
  plan.ranks = planning.inputs.ranks;
  plan.mesh = meshes_of(planning.inputs.ranks, planning.inputs.ranks_per_node).front();
  for (std::size_t v = 0; v < parts.size(); ++v) {
    const EinsumSite& site = costs.sites()[v];
    plan.at.emplace(site.site, PartsDecision(planning.region.ops[site.op].op, planning.inputs, parts[v]).decision());
  }
  return plan;
}

std::optional<Alternative> by_partition_vectors(Planning& planning) {
  const EinsumCosts costs(planning.region, planning.inputs, planning.inputs.ranks);
  const PartsChoice choice = costs.cheapest();
  Alternative found = weigh(schedules::kEinDecomp, plan_of_parts(planning, costs, choice.parts), planning);
  if (!choice.exact) found.note += ", linearized";
  return found;
}

/// Calls of one block of a result run on one rank, one after the other, so that nothing is combined; the calls of a
/// scalar are spread.
std::optional<Alternative> by_squares(Planning& planning) {
  const EinsumCosts costs(planning.region, planning.inputs, planning.inputs.ranks);
  Index side = 1;
  while ((side + 1) * (side + 1) <= planning.inputs.ranks) ++side;
  std::vector<PartitionVector> parts;
  for (const EinsumSite& site : costs.sites()) {
    PartitionVector mine = EinsumCosts::square(site, side);
    const auto result = mine.begin() + static_cast<std::ptrdiff_t>(site.einsum.result);
    const bool spread = std::any_of(mine.begin(), result, [](Index d) { return d > 1; });
    int labels = planning.region.ops[site.op].op.most_split_labels();
    for (auto d = result; d != mine.end(); ++d) {
      if (spread || (*d > 1 && labels-- <= 0)) *d = 1;
    }
    parts.push_back(std::move(mine));
  }
  return weigh(schedules::kSqrt, plan_of_parts(planning, costs, parts), planning);
}

}  // namespace

const Schedule schedules::kEinDecomp{"eindecomp", "by partition vectors", by_partition_vectors};
const Schedule schedules::kSqrt{"sqrt", "every label cut sqrt(p) ways", by_squares, nullptr, true, true};

}  // namespace tdsl::plan
