#pragma once

#include "codegen/families/family_builder.h"

namespace tdsl::codegen {

/// One operation for a fused operator. Its tasks are parts of the shared labels' ranges, along which its
/// operands and, if it is aligned, its result are cut; everything else of them a task has whole. Several results, which
/// must all close and have one type, or be counts in f64, are packed into one tensor, from which one operation each
/// takes its part.
void lower_fused(FamilyBuilder& builder, const ir::Node& node, const ir::Fused& fused);

}  // namespace tdsl::codegen
