#pragma once

#include <exception>
#include <new>
#include <string>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

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
      error_ = "out of memory";
    } catch (const std::exception& e) {
      error_ = std::string("internal error of the runtime, please report it: ") + e.what();
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
