#pragma once

#include <cstddef>
#include <map>
#include <string_view>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// Parses the text form. Throws std::runtime_error("line:column: message"), also for expressions without a type.
[[nodiscard]] Program parse(Pool& pool, std::string_view text);
/// A program with the line of every operator, by node; of several equal ones, the first.
struct ProgramText {
  Program program;
  std::map<int, std::size_t> lines;
};
[[nodiscard]] ProgramText parse_with_lines(Pool& pool, std::string_view text);
/// Parses a program with one result.
[[nodiscard]] Expr parse_one(Pool& pool, std::string_view text);

}  // namespace tdsl::ir::algebra
