#pragma once

#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The text form of an index graph; parse(print(p)) equals p up to source ranges of expressions.
[[nodiscard]] std::string print(const Program& program);
/// One expression in the text form.
[[nodiscard]] std::string print(const Program& program, const Expr& e, const std::vector<std::string>& labels);
/// `f64[n, sparse m]`, as in a declaration; `?` for unnamed extents.
[[nodiscard]] std::string declared_type(const Program& program, const Type& type);
/// The text in quotes, escaped.
[[nodiscard]] std::string quoted(const std::string& text);
/// Parses the text form. Throws std::runtime_error("line:column: message").
[[nodiscard]] Program parse(std::string_view text);

}  // namespace tdsl::ir
