#pragma once

#include <functional>
#include <memory>

#include "runtime/app/run/program_run.h"
#include "runtime/base/environment.h"
#include "runtime/engine/tasks/tape.h"
#include "runtime/library/arrays.h"

namespace tdsl::rt {

/// One-time initialisation of the process, for all library handles.
[[nodiscard]] const Environment& prepared_environment();

/// One call of the program.
class CalledRun final : public ProgramRun {
 public:
  /// `tape` receives the calls of kernels; null: none.
  CalledRun(World& world, Store& store, const ProgramInfo& info, const std::function<void(Session&)>& program,
            AppOptions options, Arrays& arrays, EarlierRuns& earlier, std::function<bool()> stop, Tape* tape);

  /// Nothing has been computed up to here: errors are the same on all ranks.
  void prepare(bool dry);
  void compute();
  /// True if compute() ended with a program error that occurred on all ranks.
  [[nodiscard]] bool failed_alike() const { return failed_alike_; }
  /// After compute(): true if equal calls execute the same kernels and do nothing else (no computed value was read,
  /// nothing was printed or written to files), and these are so short that neither threads nor a way to stop them
  /// matter.
  [[nodiscard]] bool is_repeatable() const;
  [[nodiscard]] int run_threads() const { return execution_->setup.plan_inputs.threads; }

 private:
  Arrays& arrays_;
  std::function<bool()> stop_;
  Tape* tape_;
  std::unique_ptr<Execution> execution_;
  bool failed_alike_ = false;
};

}  // namespace tdsl::rt
