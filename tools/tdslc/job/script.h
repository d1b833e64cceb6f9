#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/sweep.h"

// The batch script of a job, readable and resubmittable.

namespace tdsl::tools {

struct ScriptRequest {
  Site site;
  JobSize size;
  std::string source;                  ///< source file
  std::string name;                    ///< of the program
  std::string executable;              ///< path used to start it
  std::string checksum;                ///< output of `cksum`; empty: not checked
  std::vector<SweepElement> elements;  ///< of a sweep, or a single element
  std::size_t kinds = 0,
              planned = 0;   ///< for a sweep: number of elements with distinct sizes, and of those planned
  bool root = false;         ///< passes --allow-run-as-root to mpirun
  bool spill_given = false;  ///< the user's arguments select the spill folder
  std::string checkpoint;    ///< folder name without job number; empty: no checkpoints
};

/// First comment line of every script.
inline constexpr std::string_view kScriptSign = "made by tdslc submit";

/// For POSIX shells; passes `sh -n` and shellcheck.
[[nodiscard]] std::string script_text(const ScriptRequest& request);
/// The job's output file with Slurm's patterns: product-%j.log, for arrays product-%A_%a.log.
[[nodiscard]] std::string log_pattern(const ScriptRequest& request);
/// The same for messages, with the job's number.
[[nodiscard]] std::string log_name(const ScriptRequest& request, const std::string& job);
/// A name reduced to characters that Slurm and file names take literally.
[[nodiscard]] std::string job_name(std::string_view name);

/// Warning before an executable is overwritten by one with this checksum: pending jobs may need the old one. Empty if
/// there is none or it is identical.
[[nodiscard]] std::string replacement_warning(const std::string& path, const std::string& checksum);

/// The two numbers printed by POSIX `cksum`.
[[nodiscard]] std::string posix_checksum(std::string_view bytes);

}  // namespace tdsl::tools
