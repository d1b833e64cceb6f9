#pragma once

#include <string>

namespace tdsl::tools {

/// "signal 9 (Killed)".
[[nodiscard]] std::string signal_text(int signal);

/// Which ranks ended without a word, from the signs in the session folder (see runtime/app/life_sign.h) and the launcher's exit
/// code, which is 128 + the signal of the first one: "rank 1 was ended by signal 9 (Killed)". Empty if nothing tells.
[[nodiscard]] std::string lost_ranks(const std::string& folder, int exit_code);

}  // namespace tdsl::tools
