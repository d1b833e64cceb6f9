#pragma once

#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace tdsl::codegen {

/// `rt::rows::sum<double>(range, [&](Index i) { return x(i); })`: a sum, product, minimum or maximum along a line, in
/// the order of runtime/kernels/rows.h. `lets`: statements before `return`.
[[nodiscard]] std::string line_reduction(ir::Monoid::Kind kind, std::string_view type, std::string_view range,
                                         std::string_view index, std::string_view value, std::string_view lets = "");

}  // namespace tdsl::codegen
