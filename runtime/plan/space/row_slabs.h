#pragma once

#include <optional>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// Who writes what of a tensor that lies as `where` says, if every rank that has a part of it writes whole rows:
/// neighbouring ones, in tiles of about so many bytes. The ranks that have a part of a row are those that write near
/// it. Nothing if no dimension is long enough for that, or one rank has everything.
[[nodiscard]] std::optional<Distribution> row_slabs(const TensorDesc& tensor, const Distribution& where,
                                                    Index tile_bytes);

}  // namespace tdsl::plan
