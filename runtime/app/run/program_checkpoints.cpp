#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/app/checkpoint/checkpoints.h"
#include "runtime/app/run/program_run.h"
#include "runtime/app/run/run_program_signals.h"
#include "runtime/app/session/together.h"
#include "runtime/base/number_format.h"
#include "runtime/io/temporaries.h"
#include "runtime/message_id.h"

namespace tdsl::rt {

namespace {

constexpr const char* kFinished = "/finished";

/// Time to wait for a run that was just ended, and for a lock held by a lost host, which its file server keeps until a
/// timeout.
constexpr std::chrono::seconds kEnding{10}, kLost{120};

/// Locks the directory until this process exits, so that no other run saves there. The other ranks wait meanwhile; this
/// one gives signs of life although it does not hold the MPI token (Note [Vigil]).
void lock(const std::string& directory, bool goes_on, bool quiet) {
  const int fd = ::open((directory + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return;  // the error is reported later
  const auto begin = std::chrono::steady_clock::now();
  bool told = quiet;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;  // the file system does not support locks
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited >= (goes_on ? kLost : kEnding))
      throw RunError("--checkpoint: another run is writing checkpoints to `" + directory + "` [checkpoint]",
                     ExitCode::kUsage);
    if (waited >= kEnding && !std::exchange(told, true)) {
      std::fprintf(
          stderr,
          "waiting for the lock of `%s`, for up to %d s: another run has it, or had it on a host that was lost\n",
          directory.c_str(), static_cast<int>(kLost.count()));
    }
    ::sleep(1);
  }
}

/// Rank 0 creates the directory and locks it against other runs. Returns the number of its last checkpoint.
std::int64_t prepare(const AppOptions& options) {
  const std::string& directory = *options.checkpoint_directory;
  const std::optional<std::string>& resumed = options.resume_directory;
  const checkpoint::Folder folder(directory);
  folder.prepare();
  lock(directory, resumed.has_value(), options.quiet);
  std::error_code ignored;
  const std::vector<std::int64_t> numbers = folder.numbers();
  const bool same = resumed && std::filesystem::equivalent(directory, *resumed, ignored);
  if (!numbers.empty() && !same)
    throw RunError("--checkpoint: `" + directory + "` holds checkpoints of another run; resume with --resume " +
                       directory + " or choose another directory [checkpoint]",
                   ExitCode::kUsage);
  return numbers.empty() ? 0 : numbers.back();
}

/// Called once the run has resumed from the directory or started afresh: removes leftovers of killed attempts, since
/// this run may end before it saves. A run that is rejected earlier removes nothing.
void take_over(const std::string& directory, const std::string& attempt) {
  std::error_code ignored;
  std::filesystem::remove(directory + kFinished, ignored);
  checkpoint::Folder(directory).sweep(attempt);
}

std::string name_of_attempt() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(::getpid()) + "-" +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace

/// Checkpoint state, determined before the program is planned; empty if the run neither saves nor resumes.
std::optional<CheckpointStart> ProgramRun::find_checkpoint(RunSetup& setup) {
  if (options_.dry_run || (!options_.checkpoint_directory && !options_.resume_directory)) return std::nullopt;
  CheckpointStart start;
  std::string last = "0";
  on_first_rank(world_, {&last, &start.facts.attempt}, [&] {
    try {
      std::error_code failed;
      // The directory of --checkpoint is created, so that a script can pass both options from the first attempt on.
      const auto place = [](const std::string& directory) {
        std::error_code ignored;
        const std::filesystem::path place = std::filesystem::weakly_canonical(directory, ignored);
        return place.has_filename() ? place : place.parent_path();
      };
      const bool is_made = options_.resume_directory && options_.checkpoint_directory &&
                           place(*options_.resume_directory) == place(*options_.checkpoint_directory);
      if (options_.resume_directory && !is_made && !std::filesystem::is_directory(*options_.resume_directory, failed)) {
        const bool absent = !failed || failed == std::errc::no_such_file_or_directory;
        throw RunError(absent ? "--resume: there is no directory `" + *options_.resume_directory + "` [checkpoint]"
                              : "--resume: cannot read `" + *options_.resume_directory + "`: " + failed.message() +
                                    " [checkpoint]",
                       ExitCode::kUsage);
      }
      start.facts.attempt = name_of_attempt();
      if (options_.checkpoint_directory) last = std::to_string(prepare(options_));
      start.facts.identity = identity_of(info_, options_);
    } catch (const RunError&) { throw; } catch (const std::exception& e) {  // the other ranks wait for rank 0's result
      throw RunError(std::string("checkpoints: ") + e.what() + " [checkpoint]");
    }
  });
  start.facts.last = std::stoll(last);
  start.facts.stop_at = environment_.stop_at_boundary;
  start.facts.setting = setting_of(setup.plan_inputs, options_);
  if (options_.resume_directory) {
    start.resumed = find_resume_point(world_, *options_.resume_directory, start.facts.identity, start.facts.setting,
                                      options_.quiet);
  }
  if (start.resumed && start.resumed->same_setting) keep_earlier_plan(setup, *start.resumed);
  if (options_.checkpoint_directory && world_.rank() == 0)
    take_over(*options_.checkpoint_directory, start.facts.attempt);
  return start;
}

/// Uses the saved plan, unless the current nodes have less memory and it does not fit.
void ProgramRun::keep_earlier_plan(RunSetup& setup, ResumePoint& resumed) {
  const checkpoint::Manifest& manifest = resumed.blocks->manifest();
  RunSetup then = setup;
  then.plan_inputs.machine = plan::parse_machine(manifest.machine);
  then.plan_inputs.memory = manifest.memory;
  std::string anew;
  const bool spilled = !manifest.plan.empty() && plan::parse_plan(manifest.plan).disk > 0;
  if (spilled && options_.spill == "none") anew = ": the saved plan has tensors on disk, which --spill none forbids";
  on_first_rank(world_, {&anew}, [&] {
    if (!anew.empty() || limit_.bytes <= 0) return;
    try {
      StartRequest request = start_request(then);
      request.inputs = then.plan_inputs;
      if (const auto need = need_beyond_limit(request, manifest.plan)) {
        anew = ": the saved plan needs " + format_bytes(need->bytes) + " on a rank, which may have " +
               format_bytes(limit_.most) + " now, as " + limit_.source;
      }
    } catch (const std::exception& e) {
      throw RunError(with_id(std::string("the plan of the checkpoint: ") + e.what(), "checkpoint"));
    }
  });
  resumed.same_setting = anew.empty();
  resumed.why_anew = std::move(anew);
  if (resumed.same_setting) setup.plan_inputs = std::move(then.plan_inputs);
}

/// Ends a run that was stopped at a checkpoint.
int ProgramRun::end_checkpointed(const Execution& execution) {
  silence_interrupts();
  unlink_temporaries();
  if (world_.rank() == 0 && !options_.quiet) {
    std::fprintf(stderr, "stopped: checkpoint written to `%s`; resume with --resume %s\n",
                 execution.checkpoints->newest().c_str(), options_.checkpoint_directory->c_str());
    std::fputs(execution.sink.series().kept_records().c_str(), stderr);
  }
  std::fflush(stdout);
  return leave_together(static_cast<int>(ExitCode::kCheckpointed));
}

/// Marks the run as finished for scripts: there is nothing to resume.
void ProgramRun::mark_finished() {
  if (!options_.checkpoint_directory || options_.dry_run) return;
  try {
    write_file(*options_.checkpoint_directory + kFinished, "");
  } catch (const RunError& e) {
    if (world_.rank() == 0 && !options_.quiet)
      std::fprintf(stderr, "warning: %s [checkpoint]\n", without_id(e.what()).c_str());
  }
}

}  // namespace tdsl::rt
