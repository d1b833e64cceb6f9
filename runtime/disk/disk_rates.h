#pragma once

#include <string>

namespace tdsl::rt {

/// Throughput of a disk under spilling's access pattern, two large requests at a time, in bytes per second.
struct DiskRates {
  double read = 0, write = 0;
  std::string folder{};
  bool direct = false;    ///< bypasses the page cache
  std::string trouble{};  ///< if not empty, the measurement failed
};

/// Writes up to 256 MiB to an unnamed file, for at most 1.5 s, and reads it back.
[[nodiscard]] DiskRates measure_disk(const std::string& folder, bool insisted);

}  // namespace tdsl::rt
