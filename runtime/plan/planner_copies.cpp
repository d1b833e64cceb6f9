// Sources, which are placed for their first use, and the copies that an imposed plan keeps.

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/planner.h"
#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/tiles.h"
#include "runtime/plan/steps/home_fit.h"
#include "runtime/plan/steps/step_fit.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

namespace {

bool same_tiles(const Distribution& a, const Distribution& b) {
  for (int d = 0; d < a.rank(); ++d) {
    if (!(a.tiling(d) == b.tiling(d))) return false;
  }
  return true;
}

}  // namespace

void Planner::place_source(TensorId tensor, const Distribution& where, Planned& out) {
  const auto found = std::ranges::find_if(waiting_, [&](const Op& op) { return op.outputs.front().id == tensor; });
  if (found == waiting_.end()) return;
  Op source = std::move(*found);
  waiting_.erase(found);
  OpPlan plan;
  plan.space = where;
  plan.super_block.assign(source.shape.size(), 0);
  plan.why = "where its first use wants it";
  house(source, plan);
  if (plan.housing.home == Home::kDisk && !resident_.empty()) {
    double live = 0;
    resident_.for_each({&where}, [&](const ResidentBytes& rank) {
      live = std::max(
          live, rank.live() + counting::resident_bytes(source.outputs.front(), where, plan.housing, rank.rank()).hi);
    });
    fit_moves(source, plan, lookup(), static_cast<double>(inputs_.memory) - live, inputs_);
  }
  emit(std::move(source), plan, 0, {}, out);
  const std::shared_ptr<const PlannedOp> made = out.back();
  keep_copy(made->op, out);
}

/// Creates the copy that the plan keeps of a tensor that was just placed.
void Planner::keep_copy(const Op& made, Planned& out) {
  const KeptCopy* kept = imposed_ == nullptr || made.outputs.size() != 1 ? nullptr : imposed_->copy_of(made);
  if (kept == nullptr) return;
  const TensorDesc& original = made.outputs.front();
  if (original.elements() == 0) return;
  Op copy = copy_of(made, original);
  OpPlan plan;
  plan.space = lay_out(copy, copy.outputs.front(), kept->layout, tensor(original.id).distribution, inputs_, operands());
  if (original.sized() && !same_tiles(plan.space, tensor(original.id).distribution))
    return;  // only whole blocks are copied
  plan.super_block.assign(copy.shape.size(), 0);
  plan.why = "kept copy of " + original.name;
  fit_steps(copy, plan, lookup(), step_limit(copy, lookup(), inputs_), inputs_);
  copy.outputs.front().id = next_part_++;
  copies_.insert_or_assign(original.id, Copy{copy.outputs.front().id, kept->readers});
  emit(std::move(copy), plan, 2, {}, out);
}

void Planner::settle(SettledOp settled, Planned& out) {
  OpPlan plan;
  plan.space = std::move(settled.where);
  plan.super_block.assign(settled.op.shape.size(), 0);
  plan.why = "where it was";
  if (settled.readers.empty()) {
    house(settled.op, plan);
    // Leaves room for one block in transit to or from disk.
    if (moves_blocks(settled.op, plan, lookup())) plan.super_block.assign(settled.op.shape.size(), 1);
    return emit(std::move(settled.op), plan, 0, {}, out);
  }
  fit_steps(settled.op, plan, lookup(), step_limit(settled.op, lookup(), inputs_), inputs_);
  settled.op.outputs.front().id = next_part_++;
  copies_.insert_or_assign(settled.op.reads.front().tensor,
                           Copy{settled.op.outputs.front().id, std::move(settled.readers)});
  emit(std::move(settled.op), plan, 2, {}, out);
}

const Planner::Copy* Planner::kept_copy(TensorId original) const {
  const auto found = copies_.find(original);
  return found == copies_.end() ? nullptr : &found->second;
}

/// Redirects the operation's reads to kept copies. A waiting source is placed, and copied, for its first reader.
void Planner::use_copies(Op& op, Planned& out) {
  if (imposed_ == nullptr) return;
  for (Access& access : op.reads) {
    if (const Op* source = waiting_source(access.tensor)) {
      const KeptCopy* kept = imposed_->copy_of(*source);
      const Layout* layout = imposed_->layout_for(*source, execution_of(*source));
      const bool reads =
          kept != nullptr && std::find(kept->readers.begin(), kept->readers.end(), op.site) != kept->readers.end();
      if (!reads || layout == nullptr) continue;
      const TensorDesc& tensor = source->outputs.front();
      place_source(access.tensor,
                   lay_out(*source, tensor, *layout, Distribution::single(inputs_.ranks, whole_tiles(tensor), 0),
                           inputs_, operands()),
                   out);
    }
    const auto copy = copies_.find(access.tensor);
    if (copy == copies_.end()) continue;
    const std::vector<int>& readers = copy->second.readers;
    if (std::find(readers.begin(), readers.end(), op.site) != readers.end()) access.tensor = copy->second.id;
  }
}

}  // namespace tdsl::plan
