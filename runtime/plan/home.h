#pragma once

#include <cstdint>

#include "runtime/plan/space/index.h"

// Where a tensor's blocks are while no task works on them (Note [Homes] in region/homes.h).

namespace tdsl::plan {

enum class Home : std::uint8_t {
  kMemory,
  kDisk,  ///< a finished block is written to this rank's file and its buffer freed; who needs a piece of it reads that
  kFile,  ///< an input that is not loaded: pieces are read from its own file
};

/// Decided per tensor. Of the tiles that a rank owns it keeps in memory those at its first `resident_tiles` tile
/// coordinates along the first dimension; the others are *away*.
struct Housing {
  Home home = Home::kMemory;
  Index resident_tiles = 0;
  friend bool operator==(const Housing&, const Housing&) = default;
};

[[nodiscard]] const char* name_of(Home home);

/// An extent on disk is a multiple of this.
inline constexpr Index kDiskGrain = 4096;

}  // namespace tdsl::plan
