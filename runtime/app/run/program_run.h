#pragma once

#include <chrono>
#include <functional>
#include <map>
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
#include "runtime/plan/planner.h"
#include "runtime/plan/region/plan_request.h"

// A run of a program on an initialised rank. For program_*.cpp and run_program.cpp only.

namespace tdsl::rt {

/// Measures the seconds since the previous reading.
class StopWatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Start state of a run that saves or resumes.
struct CheckpointStart {
  CheckpointFacts facts;
  std::optional<ResumePoint> resumed;
};

/// Facts that the calls of a library's handle share: a repeated call neither reads system files nor surveys the program
/// again. Equal on all ranks.
struct EarlierRuns {
  /// The plan of a run.
  struct Planned {
    std::string plan, memory;                      ///< texts; empty: none, all of it
    std::shared_ptr<const plan::PlanValue> value;  ///< the plan; null: none
    std::shared_ptr<record::SharedPlans> shared;   ///< by the runs that follow it; null: there is one
  };
  std::optional<plan::Machine> machine;
  std::optional<bool> alike;         ///< processors
  std::optional<int> threads;        ///< of a rank
  std::map<int, RankMemory> limits;  ///< by threads
  std::string call;  ///< arrays and params of the present call; empty: it may be planned differently next time
  std::map<std::string, std::shared_ptr<const Planned>> planned;  ///< by call, threads and memory limit
};

/// Prints to standard error.
void print_error(const RunError& error);

/// Everything from options to exit code, on an initialised rank. *Collective*: all ranks make the call, in the same
/// order; thrown and returned errors are the same on all ranks, unless noted otherwise.
class ProgramRun {
 public:
  ProgramRun(World& world, Store& store, const Environment& environment, const ProgramInfo& info,
             const std::function<void(Session&)>& program, double start_seconds)
      : world_(world), store_(store), environment_(environment), info_(info), program_(program) {
    phases_.start = start_seconds;
  }

  /// Collective. `command`: the words of the command line. Prints all messages and returns the exit code; a non-zero
  /// code on several ranks under mpirun ends the process here (World::abort_all). Catches all RunErrors.
  int operator()(std::span<const std::string> command);

 protected:
  // Start. Collective, except `warn`.
  void
  check_launch();  ///< throws RunError (usage): different executables, or processors without the needed instructions
  void check_files();  ///< throws RunError (usage): an output file would overwrite an input
  void describe();     ///< --help, --version; throws RunError if printing fails
  void keep_vigil();   ///< starts the detection of hanging ranks
  [[nodiscard]] int end_alike(const RunError& error);  ///< rank 0 prints
  [[nodiscard]] int leave_together(int code);          ///< with a barrier; no messages may be in flight
  /// Prints on this rank and aborts the others; messages may be in flight.
  [[nodiscard]] int break_off(const RunError& error, bool prints, const std::string& kept_records = {});
  void watch_the_end();
  void abort_all(int code);
  [[nodiscard]] RunSetup setup();  ///< throws RunError
  [[nodiscard]] int threads();
  [[nodiscard]] RankMemory memory_limit(int threads);
  void open_windows();  ///< throws RunError (usage): not supported
  [[nodiscard]] Unfinished unfinished_outputs();
  [[nodiscard]] plan::Machine machine();         ///< throws RunError if the machine file cannot be read
  [[nodiscard]] bool report_cores(int threads);  ///< rank 0 prints
  int run();
  void warn(const std::string& text);  ///< rank 0 only

  // Planning. Throws RunError if the requested plan is impossible or does not fit.
  [[nodiscard]] bool plans_as_asked() const;                          ///< the same on all ranks, without communication
  [[nodiscard]] bool is_planned_as_whole() const;                     ///< likewise
  [[nodiscard]] plan::PlanRequest plan_request() const;               ///< rank 0 only: reads --use-plan
  [[nodiscard]] StartRequest start_request(const RunSetup& setup);    ///< likewise
  [[nodiscard]] FittingStart find_plan(Execution& execution);         ///< likewise; writes --save-plan
  [[nodiscard]] std::vector<std::string> spill_folders() const;       ///< without communication
  void open_disk(Execution& execution, const plan::PlanValue& plan);  ///< collective
  [[nodiscard]] std::shared_ptr<const EarlierRuns::Planned> to_follow(Execution& execution);  ///< collective
  [[nodiscard]] EarlierRuns::Planned planned(Execution& execution);                           ///< collective
  void survey(Execution& execution);                                                          ///< collective

  // Checkpoints. Collective.
  [[nodiscard]] std::optional<CheckpointStart> find_checkpoint(
      RunSetup& setup);  ///< throws RunError: another run's checkpoints, or none usable
  void keep_earlier_plan(RunSetup& setup,
                         ResumePoint& resumed);  ///< throws RunError: the saved plan cannot be followed
  [[nodiscard]] int end_checkpointed(const Execution& execution);
  void mark_finished();  ///< rank 0 writes; a failure only warns

  // Execution. Not collective.
  [[nodiscard]] std::unique_ptr<Watch> watch(Execution& execution);  ///< starts a thread; null for --dry-run
  void follow_progress(Execution& execution);                        ///< rank 0 only
  void execute(Execution& execution);  ///< inside Engine::run; throws ProgramError, RunError
  void compare_counts(
      const EngineSink& sink);  ///< throws RunError on ranks whose counts differ; ranks other than 0 print it first

  // End. Collective; rank 0 writes and prints. Throws RunError if a file cannot be written.
  void write_statistics(const EngineSink& sink);
  void draw_pictures(EngineSink& sink);
  void print_profile(const EngineSink& sink);
  void write_trace(const EngineSink& sink);
  void write_file(const std::string& path, const std::string& text);

  World& world_;
  Store& store_;
  const Environment& environment_;
  const ProgramInfo& info_;
  const std::function<void(Session&)>& program_;
  std::string command_;
  std::vector<LaunchFacts> launch_;  ///< of all ranks; empty without a launcher
  AppOptions options_;
  std::optional<SessionInputs> inputs_;
  EarlierRuns* earlier_ = nullptr;  ///< null: the only run
  std::optional<SurveyFacts> survey_;
  std::optional<NumberCheck> numbers_;  ///< for --check; outlives the engine
  std::vector<std::string> start_up_;   ///< rank 0's start-up messages for --stats, printed or not
  std::vector<std::string> warnings_;
  Progress progress_;
  std::optional<TraceFile> trace_;
  std::optional<SpillFile> disk_;      ///< outlives the engine
  std::optional<EnoughMemory> least_;  ///< rank 0 only, for a dry run
  std::string spill_text_;             ///< rank 0 only: the tensors on disk and their cost
  StopWatch watch_;
  Phases phases_;
  RankMemory limit_;  ///< the system limit where it applies; otherwise bytes is 0
  plan::Index start_rss_ = 0;
  bool stopped_ = false;  ///< at a checkpoint
  std::optional<Vigil> vigil_;
};

}  // namespace tdsl::rt
