#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/build/process.h"

// Slurm's commands, run without a shell, and parsers of their output.

namespace tdsl::tools {

/// Runs a command; returns its exit code and output.
using CommandRunner = std::function<codegen::ProcessResult(const std::vector<std::string>& command)>;

/// The job number in the output of `sbatch --parsable`.
[[nodiscard]] std::optional<std::string> job_number(std::string_view printed);

/// State of a job or array element from `scontrol show job -o`.
struct JobState {
  std::string state;    ///< RUNNING, COMPLETED, ...
  std::string element;  ///< of an array; a pending group: `2-5`; empty: not an array
  std::string reason;   ///< why it is pending
  std::string log;      ///< output file
  int code = 0, signal = 0;
  std::int64_t restarts = 0;

  [[nodiscard]] bool ended() const;
  /// Exit code for `--wait`: the job's own, 128 + signal number, or 1 for any other failure.
  [[nodiscard]] int exit_code() const;
};
/// One per line that describes a job; others are ignored.
[[nodiscard]] std::vector<JobState> job_states(std::string_view printed);
/// The same for `sacct -n -X -P -o JobID,State,ExitCode`, which keeps jobs longer.
[[nodiscard]] std::vector<JobState> accounted_states(std::string_view printed);

/// Submits a script; returns the job number. Throws rt::RunError with sbatch's last lines if Slurm rejects it.
[[nodiscard]] std::string submit_script(const CommandRunner& run, const std::string& script);

/// Follows a job's elements until they have ended.
class JobFollower {
 public:
  using Print = std::function<void(std::string_view)>;
  /// `print`: called with log lines; `say`: with state changes.
  JobFollower(CommandRunner run, std::string job, Print print, Print say)
      : run_(std::move(run)), job_(std::move(job)), print_(std::move(print)), say_(std::move(say)) {}

  /// Polls once. Returns true when all elements have ended. Throws rt::RunError if Slurm no longer knows the job.
  [[nodiscard]] bool look();
  /// Passes on new log output.
  void read_logs();
  /// The maximum exit code.
  [[nodiscard]] int exit_code() const;

 private:
  struct Log {
    std::string prefix;
    std::int64_t read = 0;
    std::string rest;  ///< an incomplete line
  };
  [[nodiscard]] std::vector<JobState> asked_states();
  [[nodiscard]] bool ended() const;
  void tell(const JobState& state);
  void read_log(const std::string& path, Log& log, bool last);

  CommandRunner run_;
  std::string job_;
  Print print_, say_;
  std::map<std::string, JobState> states_;   ///< by element; ended ones are kept even if Slurm forgets them
  std::map<std::string, Log> logs_;          ///< by file
  std::map<std::string, std::string> told_;  ///< last reported state, by element
  int failures_ = 0;
};

}  // namespace tdsl::tools
