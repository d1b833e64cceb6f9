#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/cost/machine.h"
#include "runtime/plan/region/homes.h"

// Storage for tensors that do not fit into memory, and the messages about it.

namespace tdsl::rt {

/// A directory for spilled tensors, or why there is none.
struct SpillPlace {
  std::string folder;
  std::string trouble;    ///< if not empty, no directory is available
  bool insisted = false;  ///< requested by --spill
};

/// The directory named by `--spill`, if given; else the first suitable candidate (see unfit_to_spill).
[[nodiscard]] SpillPlace spill_place(const std::optional<std::string>& asked, const std::vector<std::string>& folders);

/// Text such as
/// "`X` (4.0 GiB) and `C` (1.0 GiB) lie on disk in /tmp, `A` (1.0 GiB) stays in its file, because memory is too small:
/// a rank reads 12.0 GiB and writes 5.0 GiB, about 23 s at 954 MiB/s and 477 MiB/s".
[[nodiscard]] std::string homes_text(const plan::FoundHomes& homes, const std::string& folder,
                                     const plan::Machine& machine);

}  // namespace tdsl::rt
