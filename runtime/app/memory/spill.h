#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/cost/machine.h"
#include "runtime/plan/region/homes.h"

// Where tensors are that do not fit into memory, and what is said about it.

namespace tdsl::rt {

/// A folder for them, or why there is none.
struct SpillPlace {
  std::string folder;
  std::string trouble;    ///< not empty: there is no folder
  bool insisted = false;  ///< --spill names it
};

/// What `--spill` says (absent: nothing); else the first of the folders that may be one (unfit_to_spill).
[[nodiscard]] SpillPlace spill_place(const std::optional<std::string>& asked, const std::vector<std::string>& folders);

/// `'X' (4.0 GiB) and 'C' (1.0 GiB) lie on disk in /tmp, 'A' (1.0 GiB) stays in its file, because memory is too small:
/// a rank reads 12.0 GiB and writes 5.0 GiB, about 23 s at 954 MiB/s and 477 MiB/s`.
[[nodiscard]] std::string homes_text(const plan::FoundHomes& homes, const std::string& folder,
                                     const plan::Machine& machine);

}  // namespace tdsl::rt
