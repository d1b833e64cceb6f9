#pragma once

#include <string>
#include <vector>

#include "runtime/app/options/limits.h"

// The system kills a process of a group that needs more memory than the group may have. Who is left can say so.

namespace tdsl::rt {

/// If memory runs out, the system is to take this process before those that wait for it and are larger: the compiler's,
/// the launcher's.
void offer_to_be_killed();

/// What ranks need to know of each other to tell a rank that was killed from one that has ended: this process's part,
/// for all ranks.
[[nodiscard]] std::string kill_watch_part();
/// From now on this process knows whether processes of its run and group are killed for memory. `run` names the run: of
/// all its ranks on a node one speaks. `parts` are those of all ranks, `rank` this one's.
void watch_memory_kills(const std::string& run, const std::vector<std::string>& parts, int rank,
                        const SystemFiles& files = read_system_file);
/// Prints why processes of this run were killed, if they were for memory and no other rank of this node says so.
/// Returns whether the kills are known. Async-signal-safe.
bool report_memory_kill() noexcept;
/// This process ends by itself: the others shall not take it for a killed one. Async-signal-safe.
void end_unkilled() noexcept;

}  // namespace tdsl::rt
