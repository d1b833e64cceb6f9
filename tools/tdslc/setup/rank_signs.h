#pragma once

#include <cstdint>
#include <string>

namespace tdsl::tools {

/// "signal 9 (Killed)".
[[nodiscard]] std::string signal_text(int signal);

/// The signal that all `ranks` ranks caught, whatever the first one was; 0 if there is none.
[[nodiscard]] int signal_of_all(const std::string& folder, std::int64_t ranks);

/// The ranks that were killed, from the liveness files in the session folder (see runtime/app/watch/life_sign.h) and
/// the launcher's exit code, which is 128 + the signal of the first one: "rank 1 was ended by signal 9 (Killed)". Empty
/// if unknown. For SIGKILL, `killed` is appended.
[[nodiscard]] std::string lost_ranks(const std::string& folder, int exit_code,
                                     const std::string& killed = ", as the system does when memory runs out");

}  // namespace tdsl::tools
