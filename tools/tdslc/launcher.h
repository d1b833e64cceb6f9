#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/build/toolchain.h"
#include "tools/build/work_folder.h"

namespace tdsl::tools {

/// Sets a variable of this process (and so of the launcher) unless the user did.
void default_variable(const char* name, const char* value);

/// Whether the ranks may land on other machines: a batch system's allocation, or hosts given to Open MPI.
[[nodiscard]] bool other_hosts();

/// Throws UsageError where so many ranks, all on this machine, would make it unusable: more than 64 for each core.
void refuse_absurd_start(std::int64_t ranks);

/// What starts `ranks` ranks, to be followed by their program; sets the variables that the launcher is to find.
[[nodiscard]] std::vector<std::string> launcher_command(const codegen::Toolchain& toolchain, std::int64_t ranks,
                                                        bool elsewhere);

/// Prefixes of a run's folders, none where ranks may be on other machines. The first is for the launcher's own files:
/// launchers that begin and end at the same time make and remove the one they share by default, and now and then one of
/// them fails over it. The second is for memory that ranks share, which Open MPI leaves behind when its launcher is
/// killed.
[[nodiscard]] std::vector<std::string> session_folders(bool elsewhere);

/// Where the ranks leave their signs: in memory if possible, so that no disk delays them.
[[nodiscard]] const std::string& signs_folder(const codegen::WorkFolder& session);

/// Variables that tell launcher and ranks where the folders are; what the user has set stays.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> session_variables(const codegen::WorkFolder& session);

}  // namespace tdsl::tools
