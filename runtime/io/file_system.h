#pragma once

#include <cstdint>
#include <string>

namespace tdsl::rt {

enum class FileSystem : std::uint8_t { kLocal, kMemory, kShared };

/// What a folder is on, as far as it is known: memory, file systems that nodes share over a network, and all others.
/// One that is not there is local.
[[nodiscard]] FileSystem file_system_of(const std::string& folder);
[[nodiscard]] inline bool is_shared_file_system(const std::string& folder) {
  return file_system_of(folder) == FileSystem::kShared;
}

}  // namespace tdsl::rt
