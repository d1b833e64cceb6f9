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

/// A token to insert before `tokens[index]` so that the rest of the file can be read. Where the origin says that the
/// token was misspelt or is a reserved word used as a name, it is replaced.
struct Repair {
  std::size_t index = 0;
  int kind = 0;
  TokenOrigin origin = TokenOrigin::kMissing;
};

/// One run of the grammar over a file's tokens.
///
/// Note [Repairs]
/// Bison's recovery throws tokens away up to the next `;`, so a forgotten `;` would swallow the next statement and hide
/// its errors. Instead `syntax_error` looks for the place where a new statement visibly begins and asks for a `;`
/// there; parse_file inserts it and runs the grammar again from the start. A statement that begins with a misspelt
/// word is read as the one that was meant, and a reserved word that is declared as if it were a name is read as one
/// there and wherever it fits no better. Diagnostics of the abandoned run are dropped.
class ParseDriver {
 public:
  ParseDriver(const TokenizedFile& file, DiagnosticSink& sink, bool may_repair)
      : file_(file), sink_(sink), builder_(sink), may_repair_(may_repair) {}

  [[nodiscard]] AstBuilder& builder() { return builder_; }
  /// The next token; the end token for ever after a repair was asked for.
  [[nodiscard]] const Token& next();
  /// Called by the parser with the names of the tokens that could stand where the current one does.
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

/// Of a statement that ends too early on that line: `7 // 2;`, where the comment holds what ends it.
[[nodiscard]] std::vector<DiagnosticNote> division_note(std::uint32_t line, const TokenizedFile& file);

/// The scanner as Bison calls it.
GeneratedParser::symbol_type yylex(ParseDriver& driver);

}  // namespace tdsl::frontend
