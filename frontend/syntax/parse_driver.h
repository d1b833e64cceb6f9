#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast_builder.h"
#include "frontend/syntax/token.h"
#include "frontend_parser.hpp"

namespace tdsl::frontend {

/// A token to insert before `tokens[index]` so that parsing can continue. If the origin is a misspelt word or a
/// reserved word used as a name, it replaces that token instead.
struct Repair {
  std::size_t index = 0;
  int kind = 0;
  TokenOrigin origin = TokenOrigin::kMissing;
};

/// One run of the grammar over the tokens of a file.
///
/// Note [Repairs]
/// Bison's recovery skips tokens up to the next `;`, so a missing `;` would swallow the next statement and hide its
/// errors. Instead, `syntax_error` looks for the start of a new statement and requests a `;` before it; parse_file
/// inserts it and restarts the grammar. A statement that starts with a misspelt keyword is parsed as the intended one.
/// A reserved word that is declared as a name is parsed as a name there and wherever the reserved word does not fit.
/// Diagnostics of the abandoned run are dropped.
class ParseDriver {
 public:
  ParseDriver(const TokenizedFile& file, DiagnosticSink& sink, bool may_repair)
      : file_(file), sink_(sink), builder_(sink), may_repair_(may_repair) {}

  [[nodiscard]] AstBuilder& builder() { return builder_; }
  /// The next token; after a repair request, always the end token.
  [[nodiscard]] const Token& next();
  /// Called by the parser with the names of the tokens that are possible instead of the current one.
  void syntax_error(std::vector<std::string> expected);
  [[noreturn]] void internal_error(const SourceRange& range, const std::string& message) const;
  [[nodiscard]] const std::optional<Repair>& repair() const { return repair_; }

 private:
  [[nodiscard]] std::optional<Repair> find_repair(const std::vector<std::string>& expected) const;
  [[nodiscard]] bool ends_statement(std::size_t index) const;
  [[nodiscard]] bool begins_statement(std::size_t index) const;
  [[nodiscard]] bool in_monoid(std::size_t index) const;
  [[nodiscard]] bool near_lexical_error() const;
  [[nodiscard]] std::vector<DiagnosticNote> unclosed_note(const std::vector<std::string>& expected) const;
  [[nodiscard]] std::size_t statement_begin() const;
  [[nodiscard]] std::optional<std::size_t> misspelt_word() const;
  [[nodiscard]] std::optional<Repair> use_of_reserved_name() const;
  [[nodiscard]] bool lacks_parenthesis();

  const TokenizedFile& file_;
  DiagnosticSink& sink_;
  AstBuilder builder_;
  bool may_repair_;
  std::size_t position_ = 0;  // of the token after the current one
  std::optional<Repair> repair_;
};

/// Note for a statement cut short on that line by a comment, as in `7 // 2;`.
[[nodiscard]] std::vector<DiagnosticNote> division_note(std::uint32_t line, const TokenizedFile& file);

/// The scanner interface of Bison.
GeneratedParser::symbol_type yylex(ParseDriver& driver);

}  // namespace tdsl::frontend
