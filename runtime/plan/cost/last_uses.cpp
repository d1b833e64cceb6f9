#include "runtime/plan/cost/last_uses.h"

#include <algorithm>

#include "runtime/plan/cost/rank_view.h"

namespace tdsl::plan {

LastUses last_uses(const std::vector<std::shared_ptr<const PlannedOp>>& segment, const std::vector<TensorId>& dropped) {
  std::unordered_map<TensorId, std::size_t> last;
  for (std::size_t k = 0; k < segment.size(); ++k) {
    const Op& op = segment[k]->op;
    for (const TensorDesc& output : op.outputs) last[output.id] = k;
    for (const Access& access : op.reads) last[access.tensor] = k;
    if (op.base >= 0) last[op.base] = k;
  }
  LastUses uses;
  uses.after.resize(segment.size());
  for (const TensorId id : dropped) {
    const auto found = last.find(id);
    if (found != last.end()) {
      uses.after[found->second].push_back(id);
    } else {
      uses.unused.push_back(id);
    }
  }
  return uses;
}

bool reads_where_it_writes(const Op& op, const Access& access) {
  // A reduction visits an element once per value of its reduce labels, so it would read elements it has already
  // overwritten.
  if (!op.reduce.empty() || access.dims.size() != op.out.size()) return false;
  for (std::size_t d = 0; d < op.out.size(); ++d) {
    const OutSubscript& out = op.out[d];
    const DimAccess& in = access.dims[d];
    if (in.whole || in.divisor != 1 || in.offset != Interval{out.constant, out.constant + 1}) return false;
    const bool same = out.label >= 0
                          ? in.terms.size() == 1 && in.terms.front() == Affine::Term{out.label, out.coefficient}
                          : in.terms.empty() && out.label == kNoLabel;
    if (!same) return false;
  }
  return true;
}

bool may_write_into(const Op& op, TensorId operand) {
  if (op.op_class != OpClass::kMap || !op.overwrites || op.base >= 0 || op.outputs.size() != 1 ||
      op.outputs.front().sized())
    return false;
  return std::ranges::all_of(
      op.reads, [&](const Access& access) { return access.tensor != operand || reads_where_it_writes(op, access); });
}

bool updates_in_place(const Op& op, const OpPlan& plan) {
  Index panels = 1;
  for (const Tiling& reduced : plan.reduce) panels *= std::max<Index>(reduced.tiles(), 1);
  if (!op.outputs.empty() && op.outputs.front().sized()) return false;  // old and new blocks coexist
  return op.base >= 0 && std::ranges::all_of(op.reads, [&](const Access& access) {
           return access.tensor != op.base || (panels == 1 && reads_where_it_writes(op, access));
         });
}

double ResidentBytes::run(const PlannedOp& op, double step_bytes, const std::vector<TensorId>& dead) {
  if (updates_in_place(op.op, op.plan) && std::find(dead.begin(), dead.end(), op.op.base) != dead.end())
    free(op.op.base);
  for (const TensorDesc& output : op.op.outputs) {
    hold(output.id,
         counting::resident_bytes(output, distribution_of(op.op, op.plan, output), op.plan.housing, rank_).hi);
  }
  const double held = live_ + step_bytes;
  peak_ = std::max(peak_, held);
  for (const TensorId id : dead) free(id);
  return held;
}

void ResidentBytes::hold(TensorId id, double bytes) {
  owned_[id] = bytes;
  live_ += bytes;
}

void ResidentBytes::free(TensorId id) {
  const auto found = owned_.find(id);
  if (found == owned_.end()) return;
  live_ -= found->second;
  owned_.erase(found);
}

}  // namespace tdsl::plan
