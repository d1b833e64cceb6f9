#pragma once

#include <optional>

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Turns a loop of steps into one of blocks of steps (Note [Time tiles] in runtime/plan/time_tile.h), if its body is
/// one map of the carried tensor that reads its earlier values at constant distances, and nothing else. Returns the
/// step that decides the number of steps of a block, which precedes the loop; nothing: the loop is unchanged.
[[nodiscard]] std::optional<TimeTileStep> tile_in_time(ProgramBuilder& builder, ForStep& loop, SourceRange range);

}  // namespace tdsl::codegen
