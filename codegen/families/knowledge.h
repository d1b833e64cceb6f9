#pragma once

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// Says of every loop and branch what is known of it before the program runs (record::Known), numbers branches that are
/// not known at start, and puts a FenceStep where a step records something whose extents come from computed data:
///
///     let k = i64(sum(x));              a control read: k comes from data
///     fence
///     let Z[i] = 0.0 for i in 0..k;
///
/// Releases have been added. A survey (runtime/record/survey.h) follows these marks.
void mark_knowledge(FamilyProgram& program);

}  // namespace tdsl::codegen
