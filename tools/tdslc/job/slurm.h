#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/build/process.h"

// Slurm's commands, which run without a shell, and their answers.

namespace tdsl::tools {

/// Runs a command and gives its exit code and what it printed.
using CommandRunner = std::function<codegen::ProcessResult(const std::vector<std::string>& command)>;

/// The job's number in what `sbatch --parsable` printed.
[[nodiscard]] std::optional<std::string> job_number(std::string_view printed);

/// What `scontrol show job -o` says of a job, or of an element of an array.
struct JobState {
  std::string state;    ///< RUNNING, COMPLETED, ...
  std::string element;  ///< of an array; several that wait: `2-5`; empty: no array
  std::string reason;   ///< why it waits
  std::string log;      ///< its output's file
  int code = 0, signal = 0;
  std::int64_t restarts = 0;

  [[nodiscard]] bool ended() const;
  /// The exit code for whoever waits: the job's own, 128 + a signal's number, or 1 for what ended it otherwise.
  [[nodiscard]] int exit_code() const;
};
/// One per line that describes a job; empty where nothing does.
[[nodiscard]] std::vector<JobState> job_states(std::string_view printed);
/// The same of what `sacct -n -X -P -o JobID,State,ExitCode` says, which remembers jobs for longer.
[[nodiscard]] std::vector<JobState> accounted_states(std::string_view printed);

/// Submits a script; the job's number. Throws rt::RunError with sbatch's last lines if Slurm refuses.
[[nodiscard]] std::string submit_script(const CommandRunner& run, const std::string& script);

/// Follows jobs until they have ended.
class JobFollower {
 public:
  using Print = std::function<void(std::string_view)>;
  /// `print`: lines of logs; `say`: what happens to the job.
  JobFollower(CommandRunner run, std::string job, Print print, Print say)
      : run_(std::move(run)), job_(std::move(job)), print_(std::move(print)), say_(std::move(say)) {}

  /// Looks once. True when all have ended. Throws rt::RunError when Slurm has forgotten the job.
  [[nodiscard]] bool look();
  /// Passes on what has come into the logs since.
  void read_logs();
  /// The greatest exit code.
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
  std::map<std::string, JobState> states_;   ///< by element; those that have ended stay, also when Slurm forgets them
  std::map<std::string, Log> logs_;          ///< by file
  std::map<std::string, std::string> told_;  ///< by element
  int failures_ = 0;
};

}  // namespace tdsl::tools
