#include "runtime/plan/last_uses.h"

#include <algorithm>

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

void ResidentBytes::run(const PlannedOp& op, double step_bytes, const std::vector<TensorId>& dead) {
  // An operation that is the last to need its base overwrites it.
  if (op.op.base >= 0 && std::find(dead.begin(), dead.end(), op.op.base) != dead.end()) free(op.op.base);
  for (const TensorDesc& output : op.op.outputs) {
    const auto bytes = static_cast<double>(op.plan.space.owned_elements(rank_) * output.element.bytes);
    owned_[output.id] = bytes;
    live_ += bytes;
  }
  peak_ = std::max(peak_, live_ + step_bytes);
  for (const TensorId id : dead) free(id);
}

void ResidentBytes::free(TensorId id) {
  const auto found = owned_.find(id);
  if (found == owned_.end()) return;
  live_ -= found->second;
  owned_.erase(found);
}

}  // namespace tdsl::plan
