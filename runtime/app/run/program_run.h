#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/checkpoint/checkpoints.h"
#include "runtime/app/memory/rank_memory.h"
#include "runtime/app/memory/spill.h"
#include "runtime/app/report/statistics.h"
#include "runtime/app/report/trace_file.h"
#include "runtime/app/run/fitting_start.h"
#include "runtime/app/run/launch_check.h"
#include "runtime/app/session/session_impl.h"
#include "runtime/app/session/session_inputs.h"
#include "runtime/app/watch/watch.h"
#include "runtime/base/environment.h"
#include "runtime/disk/spill_file.h"
#include "runtime/engine/watch/vigil.h"
#include "runtime/plan/region/plan_request.h"

// A run of a program on a rank that is up, for program_*.cpp and run_program.cpp only.

namespace tdsl::rt {

/// Seconds since the last look.
class StopWatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// What a run that has to do with checkpoints starts from.
struct CheckpointStart {
  CheckpointFacts facts;
  std::optional<ResumePoint> resumed;
};

/// On standard error.
void print_error(const RunError& error);

/// Everything from options to exit code, on a rank that is up. *Collective*: all ranks call it, in the same order; what
/// it throws or returns as an error is the same on all of them, unless said otherwise.
class ProgramRun {
 public:
  ProgramRun(World& world, const Environment& environment, const ProgramInfo& info,
             const std::function<void(Session&)>& program, double start_seconds)
      : world_(world), environment_(environment), info_(info), program_(program) {
    phases_.start = start_seconds;
  }

  /// Collective. `command`: the words of the command line. Returns the exit code, after messages have been printed;
  /// with a code other than 0, several ranks under mpirun end here instead (World::abort_all). RunErrors do not leave
  /// it.
  int operator()(std::span<const std::string> command);

 protected:
  // The beginning. Collective, but for `warn`.
  void check_launch();  ///< throws RunError (usage): different executables, processors without its instructions
  void on_first_rank(const std::function<void()>& action);  ///< a RunError that rank 0 throws is thrown on all ranks
  void check_files();  ///< throws RunError (usage): a written file would replace one that is read
  void describe();     ///< --help, --version; throws RunError where that cannot be printed
  void keep_vigil();   ///< from now on ranks that stop are missed
  [[nodiscard]] int end_alike(const RunError& error);  ///< rank 0 prints
  [[nodiscard]] int leave_together(int code);          ///< with a barrier; nothing may be under way between ranks
  [[nodiscard]] int break_off(const RunError& error,
                              bool prints);  ///< on this rank, which ends the others; messages may be under way
  void watch_the_end();
  void abort_all(int code);
  [[nodiscard]] RunSetup setup();  ///< throws RunError
  [[nodiscard]] RankMemory memory_limit(int threads);
  [[nodiscard]] Unfinished unfinished_outputs();
  [[nodiscard]] plan::Machine machine();         ///< throws RunError: a file of constants that cannot be read
  [[nodiscard]] bool report_cores(int threads);  ///< rank 0 prints
  int run();
  void warn(const std::string& text);  ///< on rank 0 only

  // The plan. Throws RunError: what cannot be planned as asked, what does not fit.
  [[nodiscard]] bool plans_as_asked() const;                          ///< the same on all ranks, without messages
  [[nodiscard]] bool is_planned_as_whole() const;                     ///< likewise
  [[nodiscard]] plan::PlanRequest plan_request() const;               ///< on rank 0 only: reads --use-plan
  [[nodiscard]] StartRequest start_request(const RunSetup& setup);    ///< likewise
  [[nodiscard]] FittingStart find_plan(Execution& execution);         ///< likewise; writes --save-plan
  [[nodiscard]] std::vector<std::string> spill_folders() const;       ///< without messages
  void open_disk(Execution& execution, const plan::PlanValue& plan);  ///< collective
  [[nodiscard]] std::string plan_text(Execution& execution);          ///< collective
  void survey(Execution& execution);                                  ///< collective

  // Checkpoints. Collective.
  [[nodiscard]] std::optional<CheckpointStart> find_checkpoint(
      RunSetup& setup);  ///< throws RunError: another run's, or none that can be used
  void keep_earlier_plan(RunSetup& setup,
                         ResumePoint& resumed);  ///< throws RunError: a saved plan that cannot be followed
  [[nodiscard]] int end_checkpointed(const Execution& execution);
  void mark_finished();  ///< rank 0 writes; a failure is a warning

  // The run. Each rank by itself.
  [[nodiscard]] std::unique_ptr<Watch> watch(Execution& execution);  ///< starts a thread; null for --dry-run
  void follow_progress(Execution& execution);                        ///< on rank 0 only
  void execute(Execution& execution);  ///< inside of Engine::run; throws ProgramError, RunError
  void compare_counts(
      const EngineSink& sink);  ///< throws RunError on the ranks whose counts differ, after printing it above rank 0

  // The end. Collective; rank 0 writes and prints. Throws RunError: a file that cannot be written.
  void write_statistics(const EngineSink& sink);
  void print_profile(const EngineSink& sink);
  void write_trace(const EngineSink& sink);
  void write_file(const std::string& path, const std::string& text);

  World& world_;
  const Environment& environment_;
  const ProgramInfo& info_;
  const std::function<void(Session&)>& program_;
  std::string command_;
  std::vector<LaunchFacts> launch_;  ///< of all ranks; empty without a launcher
  AppOptions options_;
  std::optional<SessionInputs> inputs_;
  std::optional<SurveyFacts> survey_;
  std::optional<NumberCheck> numbers_;  ///< of --check; outlives the engine
  std::vector<std::string> start_up_;   ///< of rank 0, for --stats; whether or not it was printed
  std::vector<std::string> warnings_;
  Progress progress_;
  Store store_;
  std::optional<TraceFile> trace_;
  std::optional<SpillFile> disk_;      ///< outlives the engine
  std::optional<EnoughMemory> least_;  ///< on rank 0, of a dry run
  std::string spill_text_;             ///< on rank 0: what lies on disk, and what that costs
  StopWatch watch_;
  Phases phases_;
  RankMemory limit_;  ///< of the system's, where it counts; else its bytes are 0
  plan::Index start_rss_ = peak_rss();
  bool stopped_ = false;  ///< at a checkpoint
  std::optional<Vigil> vigil_;
};

}  // namespace tdsl::rt
