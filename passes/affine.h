#pragma once

#include "ir/graph/affine.h"

namespace tdsl::passes {

using ir::expr_of_polynomial;
using ir::extent_of;
using ir::is_linear;
using ir::label_value;
using ir::linear_in;
using ir::LinearForm;
using ir::mentions;
using ir::polynomial_of;
using ir::reads_each_label_once;
using ir::subscript_polynomial;

}  // namespace tdsl::passes
