#pragma once

#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"

namespace tdsl::codegen {

using ir::affine_of;
using ir::Hoist;
using Hull = ir::AffineHull;
using ir::hull_of;
using ir::is_data_subscript;
using ir::may_fail;
using ir::provably_inside;
using ir::QuotientForm;

/// Whether the expression mentions an index variable.
[[nodiscard]] inline bool mentions_label(const ir::Expr& e) { return ir::mentions_labels(e); }

}  // namespace tdsl::codegen
