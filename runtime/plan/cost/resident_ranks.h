#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/plan/cost/last_uses.h"

namespace tdsl::plan {

/// ResidentBytes of the sampled ranks (cost_model.h, rank_sample): a spread of all ranks, plus those that may do an
/// operation's work alone, or own a tensor alone as long as it is live.
class ResidentRanks {
 public:
  ResidentRanks() = default;  ///< tracks no rank
  explicit ResidentRanks(Index ranks);

  [[nodiscard]] bool empty() const { return spread_.empty(); }
  /// The ranks tracked now, in ascending order.
  [[nodiscard]] const std::vector<ResidentBytes>& followed() const { return followed_; }
  /// Calls f for these ranks and for those that may be the sole owners under the given distributions.
  void for_each(const std::vector<const Distribution*>& spaces,
                const std::function<void(const ResidentBytes&)>& f) const;
  /// Runs the operation with these step bytes per rank, then frees `dead`. Returns the rank with the highest peak, and
  /// that peak.
  struct Most {
    double held = 0;
    double step = 0;
  };
  Most run(const PlannedOp& op, const std::function<double(Index)>& step_bytes, const std::vector<TensorId>& dead);
  void free(TensorId id);

 private:
  struct Live {
    Distribution where;
    Housing housing;
    Index element_bytes = 0;
    std::shared_ptr<const TensorDesc> desc;  ///< null unless the tensor is sized or has non-resident blocks
    std::vector<Index> alone;                ///< ranks tracked because of it
  };
  [[nodiscard]] ResidentBytes resident(Index rank) const;
  void follow(const Distribution& space, std::vector<Index>& alone);
  void unfollow(const std::vector<Index>& alone);
  void forget(TensorId id);

  std::vector<Index> spread_;
  std::vector<ResidentBytes> followed_;
  std::map<Index, int> reasons_;  ///< reference counts of ranks tracked beyond the spread
  std::map<TensorId, Live> live_;
};

}  // namespace tdsl::plan
