#pragma once

#include <string>

namespace tdsl::rt {

/// What a disk does as spilling uses it: large requests, two at a time. Bytes per second.
struct DiskRates {
  double read = 0, write = 0;
  std::string folder{};
  bool direct = false;    ///< past the system's cache
  std::string trouble{};  ///< not empty: nothing was measured
};

/// Writes up to a quarter of a GiB into a file without a name, for a second and a half at most, and reads it back.
[[nodiscard]] DiskRates measure_disk(const std::string& folder, bool insisted);

}  // namespace tdsl::rt
