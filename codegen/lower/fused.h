#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Lowers a fused operator to one operation. Its tasks are parts of the shared labels' ranges, along which operands
/// and, if aligned, the result are cut; all other dimensions are whole in every task. Several results, which must all
/// be reductions over the shared labels and have one type (or be counts in f64), are packed into one tensor, from which
/// one further operation per result takes its part.
void lower_fused(ProgramBuilder& builder, const ir::Node& node, const ir::Fused& fused);

}  // namespace tdsl::codegen
