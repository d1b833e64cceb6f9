#pragma once

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// Marks when every loop range and branch condition becomes known (record::Known), numbers branches that are unknown at
/// start, and inserts a FenceStep before steps that record operations with extents from computed data:
///
///     let k = i64(sum(x));              a control read: k comes from data
///     fence
///     let Z[i] = 0.0 for i in 0..k;
///
/// Runs after releases have been added. A survey (runtime/record/survey.h) uses these marks.
void mark_knowledge(OperationProgram& program);

}  // namespace tdsl::codegen
