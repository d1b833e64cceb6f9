#include "runtime/plan/cost/resident_ranks.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"

namespace tdsl::plan {

namespace {

auto place_of(const std::vector<ResidentBytes>& followed, Index rank) {
  return std::lower_bound(followed.begin(), followed.end(), rank,
                          [](const ResidentBytes& a, Index r) { return a.rank() < r; });
}

bool follows(const std::vector<ResidentBytes>& followed, Index rank) {
  const auto at = place_of(followed, rank);
  return at != followed.end() && at->rank() == rank;
}

}  // namespace

ResidentRanks::ResidentRanks(Index ranks) : spread_(rank_sample(ranks)), followed_(spread_.begin(), spread_.end()) {}

/// A new ResidentBytes that already holds all live tensors.
ResidentBytes ResidentRanks::resident(Index rank) const {
  ResidentBytes bytes(rank);
  for (const auto& [id, tensor] : live_) {
    const double owned = tensor.desc != nullptr
                             ? counting::resident_bytes(*tensor.desc, tensor.where, tensor.housing, rank).hi
                             : static_cast<double>(tensor.where.owned_elements(rank) * tensor.element_bytes);
    bytes.hold(id, owned);
  }
  return bytes;
}

void ResidentRanks::for_each(const std::vector<const Distribution*>& spaces,
                             const std::function<void(const ResidentBytes&)>& f) const {
  for (const ResidentBytes& known : followed_) f(known);
  std::vector<Index> others;
  for (const Distribution* space : spaces) {
    for (const Index rank : rank_sample(*space)) {
      if (!follows(followed_, rank) && std::find(others.begin(), others.end(), rank) == others.end())
        others.push_back(rank);
    }
  }
  for (const Index rank : others) f(resident(rank));
}

void ResidentRanks::follow(const Distribution& space, std::vector<Index>& alone) {
  for (const Index rank : rank_sample(space)) {
    if (std::binary_search(spread_.begin(), spread_.end(), rank)) continue;
    alone.push_back(rank);
    if (reasons_[rank]++ == 0) followed_.insert(place_of(followed_, rank), resident(rank));
  }
}

void ResidentRanks::unfollow(const std::vector<Index>& alone) {
  for (const Index rank : alone) {
    if (--reasons_.at(rank) > 0) continue;
    reasons_.erase(rank);
    followed_.erase(place_of(followed_, rank));
  }
}

ResidentRanks::Most ResidentRanks::run(const PlannedOp& op, const std::function<double(Index)>& step_bytes,
                                       const std::vector<TensorId>& dead) {
  std::vector<Index> working;
  follow(op.plan.space, working);
  std::map<TensorId, Live> made;
  for (const TensorDesc& output : op.op.outputs) {
    const bool special = output.sized() || op.plan.housing.home != Home::kMemory;
    Live live{distribution_of(op.op, op.plan, output),
              op.plan.housing,
              output.element.bytes,
              special ? std::make_shared<const TensorDesc>(output) : nullptr,
              {}};
    Live& tensor = made.emplace(output.id, std::move(live)).first->second;
    follow(tensor.where, tensor.alone);
  }
  Most most;
  for (ResidentBytes& rank : followed_) {
    const double step = step_bytes(rank.rank());
    const double held = rank.run(op, step, dead);
    if (held > most.held) most = {held, step};
  }
  live_.merge(made);
  for (const TensorId id : dead) forget(id);
  unfollow(working);
  return most;
}

void ResidentRanks::free(TensorId id) {
  for (ResidentBytes& rank : followed_) rank.free(id);
  forget(id);
}

void ResidentRanks::forget(TensorId id) {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  const std::vector<Index> alone = std::move(found->second.alone);
  live_.erase(found);
  unfollow(alone);
}

}  // namespace tdsl::plan
