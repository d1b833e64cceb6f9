#include "runtime/app/run/program_run.h"

#include <algorithm>
#include <cstdio>
#include <new>

#include "runtime/app/run/run_files.h"
#include "runtime/app/run/run_program_signals.h"
#include "runtime/app/session/together.h"
#include "runtime/base/number_format.h"
#include "runtime/engine/mpi/mpi_table.h"
#include "runtime/engine/watch/heartbeat.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

void print_error(const RunError& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", error.what());
  std::fflush(stderr);
}

int ProgramRun::operator()(std::span<const std::string> command) {
  start_rss_ = peak_rss();
  command_ = shown_command(command);
  const std::span<const std::string> arguments = command.subspan(1);
  try {
    check_launch();
    options_ = parse_options(info_.declaration(), arguments);
    if (options_.help || options_.version) {
      describe();
      return 0;
    }
    keep_vigil();
    check_files();
    // A signal during input reading is handled at the first boundary.
    if (options_.checkpoint_directory && !options_.dry_run) catch_checkpoint_signals();
    if (world_.rank() == 0 && !options_.dry_run) {
      for (const auto& [name, path] : options_.outputs) remove_leftovers(file_behind(path));
    }
    inputs_.emplace(world_, info_, options_);
  } catch (const RunError& error) {  // same error on every rank
    return end_alike(error);
  } catch (const std::bad_alloc&) { return break_off(RunError("out of memory [out-of-memory]"), true); }
  phases_.read = watch_.lap();
  return run();
}

/// Monitors the collective phases before and after the engine runs.
void ProgramRun::keep_vigil() {
  if (options_.heartbeat == 0 || world_.size() == 1 || !world_.has_mpi()) return;
  vigil_.emplace(world_, options_.heartbeat, [&world = world_](int rank, int seconds) {
    silence_interrupts();
    print_error(RunError("no sign of life from rank " + std::to_string(rank) + " for " + std::to_string(seconds) +
                             " s, while ranks started or ended the run [lost-rank]",
                         kLostRank));
    unlink_temporaries();
    world.abort_all(static_cast<int>(kLostRank));
  });
}

/// All ranks have finished their work and only MPI_Finalize remains: a timer detects ranks that hang in it. Rank 0
/// reports them if it can.
void ProgramRun::watch_the_end() {
  if (!vigil_) return;
  world_.access()->barrier();
  const int seconds = 2 * options_.heartbeat;
  world_.expect_end(std::chrono::seconds(seconds + 2 * std::min(world_.rank(), 5)), [seconds] {
    print_error(RunError("no sign of life from another rank for " + std::to_string(seconds) +
                             " s, while MPI ended; the outputs are complete [lost-rank]",
                         kLostRank));
    return static_cast<int>(kLostRank);
  });
}

void ProgramRun::describe() {
  on_first_rank(world_, {}, [&] {
    const std::string name = mpi_name();
    write_text(options_.help ? help_text(info_.declaration())
                             : info_.declaration().version + "\n" + (name.empty() ? "" : "MPI: " + name + "\n"));
  });
}

/// The executable knows its source files by name only.
void ProgramRun::check_files() {
  on_first_rank(world_, {}, [&] {
    RunFiles files(environment_);
    files.keep_named(info_.declaration().source_file, "the program itself");
    for (const char* name : info_.files()) files.keep_named(name, "a file of the program");
    files.add(options_);
  });
}

/// Ends with an error that is the same on every rank.
int ProgramRun::end_alike(const RunError& error) {
  silence_interrupts();
  if (world_.rank() == 0) print_error(error);
  return leave_together(error.exit_code());
}

/// Ends all ranks; no messages may be in flight.
int ProgramRun::leave_together(int code) {
  // mpirun prints a message if a rank exits with a non-zero code.
  const bool aborts = world_.size() > 1 && environment_.launcher == Launcher::kMpirun;
  if (aborts) world_.fall_silent();
  if (world_.size() > 1) world_.access()->barrier();
  if (aborts) abort_all(code);
  return code;
}

int ProgramRun::run() {
  std::unique_ptr<Execution> owned;
  try {
    RunSetup start = setup();
    start.plan_inputs.alike = report_cores(start.plan_inputs.threads);
    std::optional<CheckpointStart> checkpoint = find_checkpoint(start);
    owned = std::make_unique<Execution>(std::move(start));
    if (checkpoint) owned->use_checkpoints(std::move(checkpoint->facts), std::move(checkpoint->resumed));
    const bool written = options_.stats_file || options_.plan_file;
    if (kChecksCounts || written) owned->sink.enable_predictions(written && options_.reproducible);
    survey(*owned);
  } catch (const RunError& error) {  // same error on every rank
    return end_alike(error);
  } catch (const std::bad_alloc&) { return break_off(RunError("out of memory [out-of-memory]"), true); }
  const TraceScope traced(trace_ ? &trace_->trace().buffer(0) : nullptr);
  Execution& execution = *owned;
  EngineSink& sink = execution.sink;
  bool reported = true;
  try {
    if (options_.progress && world_.rank() == 0) follow_progress(execution);
    std::unique_ptr<Watch> watching = watch(execution);
    if (vigil_ && watching != nullptr) vigil_->judge(false);
    sink.engine().run([&] { execute(execution); });
    watching.reset();
    if (vigil_) vigil_->judge(true);
    reported = false;
    if (stopped_) return end_checkpointed(execution);
    phases_.plan += sink.planning_seconds();
    phases_.compute = watch_.lap() - sink.planning_seconds();
    const double saving = world_.now();
    sink.commit_outputs();
    if (thread_trace != nullptr)
      thread_trace->add({TraceKind::kSave, trace_->trace().at(saving), world_.now() - saving});
    phases_.write = watch_.lap();
    if (kChecksCounts && !options_.dry_run) compare_counts(sink);
    draw_pictures(sink);
    print_profile(sink);
    write_statistics(sink);
    write_trace(sink);
    mark_finished();
    watch_the_end();
    return 0;
  } catch (const RunError& error) {
    const bool prints = !reported && world_.rank() == 0;
    return break_off(error, prints, prints ? sink.series().kept_records() : "");
  } catch (const std::bad_alloc&) {  // on this rank only
    return break_off(RunError("out of memory [out-of-memory]"), true);
  }
}

int ProgramRun::break_off(const RunError& error, bool prints, const std::string& kept_records) {
  silence_interrupts();
  if (prints) print_error(error);
  std::fputs(kept_records.c_str(), stderr);
  unlink_temporaries();
  // Messages may be in flight, so MPI cannot be finalized.
  if (world_.size() > 1) abort_all(error.exit_code());
  return error.exit_code();
}

/// Holds MPI access, so that the watch thread makes no more MPI calls.
void ProgramRun::abort_all(int code) {
  const World::Access access = world_.access();
  world_.abort_all(code);
}

void ProgramRun::follow_progress(Execution& execution) {
  if (const checkpoint::Manifest* const manifest = execution.checkpoints ? execution.checkpoints->resumed() : nullptr) {
    progress_.go_on(manifest->done, manifest->predicted);
  }
  execution.sink.follow(progress_);
}

/// Watches the run from a separate thread, once a second.
std::unique_ptr<Watch> ProgramRun::watch(Execution& execution) {
  if (options_.dry_run) return nullptr;
  WatchOptions options;
  options.rank = world_.rank();
  options.program = info_.declaration().name;
  options.memory_bytes = execution.setup.engine_options.memory_bytes;
  options.progress = options_.progress && world_.rank() == 0 ? &progress_ : nullptr;
  if (trace_) options.trace = &trace_->trace().of_watch();
  options.json = options_.progress_json;
  options.iteration = [&control = execution.control] {
    return WatchOptions::Iteration{control.iteration(), control.last_iteration()};
  };
  return std::make_unique<Watch>(execution.sink.engine(), std::move(options));
}

void ProgramRun::execute(Execution& execution) {
  Session session(execution.impl);
  bool complete = true;
  try {
    program_(session);
    execution.finish();
  } catch (const StoppedAtCheckpoint&) {
    stopped_ = true;
    execution.complete();
  } catch (const DryRunOver&) { complete = false; } catch (const ProgramError&) {
    // Output printed before the failure comes first. Every rank fails here, so completing it is safe.
    execution.complete();
    throw;
  }
  if (!options_.dry_run || options_.quiet || world_.rank() != 0) return;
  const plan::MemoryNeed& need = execution.sink.planner().needed_memory();
  const auto size = [&](plan::Index bytes) {
    return shown_size(bytes, options_.memory_text) + " (--memory " + option_size(bytes, options_.memory_text) + ")";
  };
  std::string text = "dry run" + std::string(complete ? "" : ", up to the first decision that depends on data") +
                     ": by this plan a rank needs " + size(need.bytes) + " for blocks";
  if (!need.name.empty()) text += ", most of all for `" + need.name + "` in line " + std::to_string(line_in(need.line));
  if (least_) {
    text += least_->in_memory < need.bytes ? "; the least of all plans is " + size(least_->in_memory)
                                           : "; no plan needs less";
    if (least_->on_disk)
      text += ", and with tensors on disk or in their files " + size(*least_->on_disk) + " is enough";
  }
  if (limit_.bytes > 0) text += "; it may have " + format_bytes(limit_.bytes) + ", as " + limit_.source;
  write_text(text + "\n");
}

}  // namespace tdsl::rt
