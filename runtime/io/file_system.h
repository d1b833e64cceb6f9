#pragma once

#include <cstdint>
#include <string>

namespace tdsl::rt {

enum class FileSystem : std::uint8_t { kLocal, kMemory, kShared };

/// Type of file system of a folder: memory, network, or local, which includes unknown types and folders that do not
/// exist.
[[nodiscard]] FileSystem file_system_of(const std::string& folder);
[[nodiscard]] inline bool is_shared_file_system(const std::string& folder) {
  return file_system_of(folder) == FileSystem::kShared;
}

}  // namespace tdsl::rt
