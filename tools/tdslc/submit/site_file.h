#pragma once

#include "tools/build/toolchain.h"
#include "tools/tdslc/command_line.h"
#include "tools/tdslc/job/site.h"

namespace tdsl::tools {

/// Where this user's profile of the site is: --site, $TDSL_SITE, else $XDG_CONFIG_HOME/tdsl/site.conf or
/// ~/.config/tdsl/site.conf.
[[nodiscard]] std::string site_path(const CommandLine& line);
/// Reads the user's profile, else the installation's lib/tdsl/site.conf. Throws UsageError if there is none, and as
/// parse_site.
[[nodiscard]] Site site_of(const CommandLine& line, const codegen::Toolchain& toolchain);
/// `tdslc doctor --site`: proposes a profile, or says where an existing one differs from what Slurm says.
[[nodiscard]] int doctor_site(const CommandLine& line);

}  // namespace tdsl::tools
