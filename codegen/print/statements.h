#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/print/writer.h"

namespace tdsl::codegen {

/// A statement of emitted C++: one line, or a head with a block, of a branch with two.
struct Statement {
  std::string text;
  std::vector<Statement> block;
  bool has_block = false;
  std::string tail = "}";
  std::vector<Statement> otherwise{};
};
using Statements = std::vector<Statement>;

[[nodiscard]] inline Statement simple(std::string text) { return {std::move(text), {}, false, {}}; }
[[nodiscard]] inline Statement block(std::string head, Statements body, std::string tail = "}") {
  return {std::move(head), std::move(body), true, std::move(tail)};
}

inline void write(Writer& w, const Statements& statements) {
  for (const Statement& s : statements) {
    if (!s.has_block) {
      w.line("{}", s.text);
      continue;
    }
    w.block(
        s.text, [&] { write(w, s.block); }, s.otherwise.empty() ? s.tail : "} else {");
    if (s.otherwise.empty()) continue;
    w.indent();
    write(w, s.otherwise);
    w.outdent();
    w.line("{}", s.tail);
  }
}

}  // namespace tdsl::codegen
