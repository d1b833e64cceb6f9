#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/plan/cost/last_uses.h"

namespace tdsl::plan {

/// ResidentBytes of the ranks that stand for all (cost_model.h, rank_sample): of many ranks a spread, and those that
/// may be alone with an operation's work, or with a tensor as long as it lives.
class ResidentRanks {
 public:
  ResidentRanks() = default;  ///< follows nobody
  explicit ResidentRanks(Index ranks);

  [[nodiscard]] bool empty() const { return spread_.empty(); }
  /// Those that are followed now, in ascending order.
  [[nodiscard]] const std::vector<ResidentBytes>& followed() const { return followed_; }
  /// Calls f for these and for those that may be alone with what lies so.
  void for_each(const std::vector<const Distribution*>& spaces,
                const std::function<void(const ResidentBytes&)>& f) const;
  /// The operation runs, with steps of these bytes on a rank; then `dead` are freed. Returns the rank that held most
  /// meanwhile, and how much.
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
    std::shared_ptr<const TensorDesc> desc;  ///< of a sized one, or one with blocks away; null of others
    std::vector<Index> alone;                ///< ranks that are followed because of it
  };
  [[nodiscard]] ResidentBytes resident(Index rank) const;
  void follow(const Distribution& space, std::vector<Index>& alone);
  void unfollow(const std::vector<Index>& alone);
  void forget(TensorId id);

  std::vector<Index> spread_;
  std::vector<ResidentBytes> followed_;
  std::map<Index, int> reasons_;  ///< to follow ranks beyond the spread
  std::map<TensorId, Live> live_;
};

}  // namespace tdsl::plan
