#pragma once

#include "tools/build/toolchain.h"
#include "tools/tdslc/command_line.h"
#include "tools/tdslc/job/site.h"

namespace tdsl::tools {

/// Path of this user's site profile: --site, $TDSL_SITE, otherwise $XDG_CONFIG_HOME/tdsl/site.conf or
/// ~/.config/tdsl/site.conf.
[[nodiscard]] std::string site_path(const CommandLine& line);
/// Reads the user's profile, otherwise the installation's lib/tdsl/site.conf. Throws UsageError if there is none;
/// otherwise as parse_site.
[[nodiscard]] Site site_of(const CommandLine& line, const codegen::Toolchain& toolchain);
/// `tdslc doctor --site`: proposes a profile, or compares an existing one with Slurm's data.
[[nodiscard]] int doctor_site(const CommandLine& line);

}  // namespace tdsl::tools
