#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/sweep.h"

// The batch script of a job: for people to read and to submit again.

namespace tdsl::tools {

struct ScriptRequest {
  Site site;
  JobSize size;
  std::string source;                  ///< the program's file
  std::string name;                    ///< of the program
  std::string executable;              ///< as it is started
  std::string checksum;                ///< what `cksum` says of it; empty: it is not looked at
  std::vector<SweepElement> elements;  ///< of a sweep, or the one job
  std::size_t kinds = 0,
              planned = 0;   ///< of a sweep: elements that differ in what sizes depend on, and those that were planned
  bool root = false;         ///< mpirun is told to run as root
  bool spill_given = false;  ///< the user's arguments say where tensors go that memory has no room for
  std::string checkpoint;    ///< the folder's name without its job; empty: no checkpoints
};

/// The first line of comments of every script.
inline constexpr std::string_view kScriptSign = "made by tdslc submit";

/// For POSIX shells; `sh -n` and shellcheck find nothing in it.
[[nodiscard]] std::string script_text(const ScriptRequest& request);
/// Where the job's output goes, with Slurm's patterns: product-%j.log, of arrays product-%A_%a.log,
[[nodiscard]] std::string log_pattern(const ScriptRequest& request);
/// and for people, with the job's number.
[[nodiscard]] std::string log_name(const ScriptRequest& request, const std::string& job);
/// A name with what Slurm and file names take literally.
[[nodiscard]] std::string job_name(std::string_view name);

/// What there is to say before the executable with that checksum takes the place of another one, which jobs may need
/// that have not started. Empty: nothing is there, or the same.
[[nodiscard]] std::string replacement_warning(const std::string& path, const std::string& checksum);

/// The two numbers of POSIX's `cksum`.
[[nodiscard]] std::string posix_checksum(std::string_view bytes);

}  // namespace tdsl::tools
