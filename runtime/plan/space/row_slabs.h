#pragma once

#include <optional>

#include "runtime/plan/op_plan.h"

namespace tdsl::plan {

/// Writers of whole rows for a tensor distributed as `where`: every rank with a part writes neighbouring rows, in tiles
/// of about `tile_bytes` bytes. The ranks with a part of a row are the ones that write close to it. Nothing if no
/// dimension is long enough, or one rank has everything.
[[nodiscard]] std::optional<Distribution> row_slabs(const TensorDesc& tensor, const Distribution& where,
                                                    Index tile_bytes);

}  // namespace tdsl::plan
