#pragma once

#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "runtime/engine/store/store.h"
#include "runtime/engine/tasks/tape.h"
#include "runtime/library/called_run.h"

namespace tdsl::rt {

/// A call whose kernels can be executed again for equal arrays in other memory. Kernels refer to arrays and run.
struct TapedCall {
  std::string params;  ///< their words
  std::unique_ptr<Store> store;
  std::shared_ptr<Arrays> arrays;
  std::unique_ptr<Tape> tape;
  std::unique_ptr<CalledRun> run;

  /// Returns false, with outputs in any state, if the call must be run.
  [[nodiscard]] bool repeat(std::span<const tdsl_array> inputs, std::span<const tdsl_array> outputs) const;
};

/// Calls of a handle that are repeated without a run (decision 096). A call that is made a second time runs on a tape,
/// if the first time has shown that it can be repeated.
class TapedCalls {
 public:
  /// The call of these params and of equal arrays; null: none.
  [[nodiscard]] const TapedCall* find(const std::string& params, std::span<const tdsl_array> inputs,
                                      std::span<const tdsl_array> outputs) const;
  /// True if the next run of this description of a call (EarlierRuns::call) is to be on a tape.
  [[nodiscard]] bool wanted(const std::string& call) const;
  /// After a run without a tape.
  void note(const std::string& call, const CalledRun& run);
  /// After a run on a tape; dropped if that is not complete.
  void add(const std::string& call, TapedCall taped);
  /// Forgets a call that could not be repeated.
  void forget(const TapedCall* taped);
  void clear();

 private:
  std::map<std::string, bool> known_;  ///< by call: whether it can be repeated
  std::list<TapedCall> calls_;         ///< the latest first
};

}  // namespace tdsl::rt
