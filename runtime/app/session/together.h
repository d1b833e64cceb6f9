#pragma once

#include <exception>
#include <initializer_list>
#include <new>
#include <string>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

/// Runs an action on rank 0. All ranks get its results, or throw its RunError. Collective.
template <class Action>
void on_first_rank(World& world, std::initializer_list<std::string*> results, const Action& action) {
  std::string error, code = "0";
  if (world.rank() == 0) {
    try {
      action();
    } catch (const RunError& e) {
      error = e.what();
      code = std::to_string(e.exit_code());
    }
  }
  world.access()->broadcast(error, 0);
  world.access()->broadcast(code, 0);
  if (!error.empty()) throw RunError(error, static_cast<ExitCode>(std::stoi(code)));
  for (std::string* const result : results) world.access()->broadcast(*result, 0);
}

/// Collective steps; each runs only if no earlier one has failed on any rank.
class Together {
 public:
  explicit Together(World& world) : world_(world) {}
  template <class Action>
  void attempt(const Action& action) {
    if (!error_.empty()) return;
    try {
      action();
    } catch (const RunError& e) { error_ = e.what(); } catch (const std::bad_alloc&) {
      error_ = "out of memory [out-of-memory]";
    } catch (const std::exception& e) {
      error_ = std::string("internal error of the runtime, please report it: ") + e.what() + " [internal-error]";
    }
  }
  /// Throws the error of the first failing rank.
  void agree() {
    for (const std::string& text : world_.access()->all_gather(error_)) {
      if (!text.empty()) throw RunError(text);
    }
  }

 private:
  World& world_;
  std::string error_;
};

}  // namespace tdsl::rt
