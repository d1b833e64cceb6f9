#pragma once

#include <string>

// The system kills a process of a group that needs more memory than the group may have. Who is left can say so.

namespace tdsl::rt {

/// From now on this process knows whether processes of its group are killed for memory. `run` names the run: of all its ranks on a
/// node one speaks.
void watch_memory_kills(const std::string& run);
/// Prints why processes of this run were killed, if they were for memory and no other rank of this node says so. Returns whether the
/// kills are known. Async-signal-safe.
bool report_memory_kill() noexcept;

}  // namespace tdsl::rt
