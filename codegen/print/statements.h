#pragma once

#include <algorithm>
#include <string>
#include <string_view>
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

/// True for the text of one C++ statement: its only `;` outside of brackets and literals is the last character.
[[nodiscard]] inline bool is_one_statement(std::string_view text) {
  int depth = 0;
  bool in_literal = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (in_literal && c == '\\') ++k;
    if (c == '"') in_literal = !in_literal;
    if (in_literal) continue;
    if (c == '#' || c == '\n') return false;
    depth += c == '(' || c == '{' ? 1 : c == ')' || c == '}' ? -1 : 0;
    if (c == ';' && depth == 0) return k + 1 == text.size();
  }
  return false;
}

/// True for a loop or an `if` without `else` around a single simple statement: it needs no braces.
[[nodiscard]] inline bool is_short(const Statement& s) {
  const std::string_view head = s.text;
  if (!head.starts_with("for (") && !head.starts_with("if (") && !head.starts_with("while (")) return false;
  return s.block.size() == 1 && !s.block[0].has_block && s.otherwise.empty() && is_one_statement(s.block[0].text);
}

/// True for a loop around a single statement that has a block itself, after pragmas: it needs no braces either.
[[nodiscard]] inline bool is_nested(const Statement& s) {
  if (!s.text.starts_with("for (") || s.block.empty() || !s.block.back().has_block) return false;
  return std::all_of(s.block.begin(), s.block.end() - 1, [](const Statement& b) { return b.text.starts_with('#'); });
}

inline void write(Writer& w, const Statements& statements) {
  for (const Statement& s : statements) {
    if (!s.has_block) {
      w.line("{}", s.text);
      continue;
    }
    if (is_short(s)) {
      w.line("{} {}", s.text, s.block[0].text);
      continue;
    }
    if (is_nested(s)) {
      w.line("{}", s.text);
      w.indent();
      write(w, s.block);
      w.outdent();
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
