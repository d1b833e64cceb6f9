#pragma once

#include <set>
#include <string>
#include <string_view>

#include "ir/graph/source.h"
#include "runtime/routines/algorithms/solve_kind.h"

namespace tdsl::codegen {

/// Hands out C++ identifiers: each at most once, none a keyword or a name that emitted code uses itself.
class NameTable {
 public:
  NameTable();
  /// `wanted` made into an identifier, with a number appended if it is taken.
  [[nodiscard]] std::string claim(std::string_view wanted);
  /// The name's scope has ended.
  void release(const std::string& name) { taken_.erase(name); }
  [[nodiscard]] bool taken(const std::string& name) const { return taken_.contains(name); }

 private:
  std::set<std::string> taken_;
};

/// An identifier, possibly reserved, for `wanted`. Names and short expressions keep their letters and digits: `x_y` for
/// `x * y`. Longer calls are named after the function, `sum` for `sum[i](x[i] * weight[i])`, other long expressions
/// `part`, comparisons `condition`, and lists `packed`.
[[nodiscard]] std::string identifier_of(std::string_view wanted);

// Text of the user's (paths, names, strings, lines of the source) reaches emitted code through these two only.

/// A C++ string literal with this value, on one line.
[[nodiscard]] std::string string_literal(std::string_view text);
/// `// text`, on one line whatever the text is: control characters become blanks, and no backslash (or `??/`, its
/// trigraph) is last, because that would make the next line of code a part of the comment.
[[nodiscard]] std::string line_comment(std::string_view text);

/// `rt::routines::SolveKind::kLower`
[[nodiscard]] std::string solve_kind_text(rt::routines::SolveKind kind);

/// A place of the program as an argument of the runtime: the line; of an imported file, with the file's number.
[[nodiscard]] std::string place_text(const ir::SourceRange& place);

}  // namespace tdsl::codegen
