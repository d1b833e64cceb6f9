#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// The text form of an index graph; parse(print(p)) equals p up to source ranges of expressions.
[[nodiscard]] std::string print(const Program& program);
/// One expression in the text form.
[[nodiscard]] std::string print(const Program& program, const Expr& e, const std::vector<std::string>& labels);
/// Parts of the text form.
[[nodiscard]] std::string print(const Type& type);
[[nodiscard]] std::string print(const Label& label);
[[nodiscard]] std::string print(const Compute& compute);
[[nodiscard]] std::string print(const SourceRange& range);
/// A constant without its type.
[[nodiscard]] std::string constant_text(const Literal& literal);
/// `%7:f64[%0] "x"`, with its location only if it differs from `place`.
[[nodiscard]] std::string definition_text(const Program& program, ValueId v, const SourceRange& place);
/// The node's lines, indented by 2 * `depth` blanks.
[[nodiscard]] std::string print(const Program& program, const Node& node, std::size_t depth);
/// `f64[n, sparse m]`, as in a declaration; `?` for unnamed extents.
[[nodiscard]] std::string declared_type(const Program& program, const Type& type, bool series = false);
/// The text in quotes, escaped.
[[nodiscard]] std::string quoted(const std::string& text);
/// Parses the text form. Throws std::runtime_error("line:column: message").
[[nodiscard]] Program parse(std::string_view text);

}  // namespace tdsl::ir
