#pragma once

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// Removes host arithmetic, tensors and reads that nothing uses and that cannot stop the run.
void drop_unused(FamilyProgram& program);

/// Adds a ReleaseStep after the last use of every tensor, or lets the copy that is its last use take it over (`move`).
/// Values carried by a loop are released inside the body as soon as the iteration has used them for the last time.
void add_releases(FamilyProgram& program);

}  // namespace tdsl::codegen
