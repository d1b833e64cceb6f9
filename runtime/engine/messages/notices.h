#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "runtime/engine/context.h"
#include "runtime/engine/messages/outbox.h"

namespace tdsl::rt {

/// Work that all ranks have done in kernels, counted on rank 0: a record of a series is complete once all of its
/// elements are in the file. A notice can arrive before rank 0 expects it.
class Notices {
 public:
  using Action = std::function<void()>;

  Notices(const Context& context, Outbox& outbox) : context_(context), outbox_(outbox) {}

  /// On rank 0: `action` is due once `amount` has been noted under the number.
  void expect(Index number, Index amount, Action action);
  /// On any rank: an amount of finished work.
  void note(Index number, Index amount);
  void take_message(const ControlMessage& message);

  /// After a failure, once no kernel of this rank runs: tells rank 0, behind all notices of this rank. On rank 0: true
  /// if no notice can come that an action waits for.
  [[nodiscard]] bool end();
  void take_end() { ++ended_; }

  /// Removes and returns the actions that are due, to be called without the lock.
  [[nodiscard]] std::vector<Action> take_due();
  /// After the calls of `count` actions.
  void called(std::size_t count) { calling_ -= count; }
  /// True if everything that rank 0 expects has been noted, and all actions have been called.
  [[nodiscard]] bool settled() const { return tallies_.empty() && idle(); }

 private:
  struct Tally {
    Index noted = 0;
    Index expected = -1;  ///< negative: not yet known
    Action action;
  };
  [[nodiscard]] bool idle() const { return due_.empty() && calling_ == 0; }
  void add(Index number, Index amount);
  void settle(std::map<Index, Tally>::iterator at);

  const Context& context_;
  Outbox& outbox_;
  std::map<Index, Tally> tallies_;
  std::vector<Action> due_;
  std::size_t calling_ = 0;
  int ended_ = 0;  ///< on rank 0: other ranks whose notices have all arrived; on these: 1 once rank 0 is told
};

}  // namespace tdsl::rt
