#pragma once

#include <cstdint>

#include "runtime/plan/space/index.h"

// Storage location of a tensor's blocks while no task uses them (Note [Homes] in region/homes.h).

namespace tdsl::plan {

enum class Home : std::uint8_t {
  kMemory,
  kDisk,  ///< a finished block is written to this rank's file and its buffer freed; readers fetch pieces from the file
  kFile,  ///< an input that is not loaded: pieces are read from the input file
};

/// Decided per tensor. A rank keeps in memory those of its tiles with the first `resident_tiles` tile coordinates along
/// the first dimension; the others are *away* (non-resident).
struct Housing {
  Home home = Home::kMemory;
  Index resident_tiles = 0;
  friend bool operator==(const Housing&, const Housing&) = default;
};

[[nodiscard]] const char* name_of(Home home);

/// Extents on disk are multiples of this many bytes.
inline constexpr Index kDiskGrain = 4096;

}  // namespace tdsl::plan
