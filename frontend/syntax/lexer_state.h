#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "frontend/syntax/token.h"

namespace tdsl::frontend {

/// State of the scanner: the actions of lexer.l call it. Tracks the position and collects tokens, comments and errors.
class LexerState {
 public:
  LexerState(const SourceManager& sources, std::uint32_t file, DiagnosticSink& sink);

  /// Runs the scanner over the whole text.
  void scan(std::string_view text);
  /// Called before every action: the match is at `begin_`..`here_`.
  void advance(std::string_view match);

  void word(std::string_view match);
  void integer(std::string_view match);
  void floating(std::string_view match);
  void bad_number(std::string_view match);
  void string(std::string_view match);
  void unterminated_string(std::string_view match);
  void symbol(std::string_view match);
  void comment(std::string_view match);
  void unterminated_comment();
  /// `# …`, a comment of other languages.
  void hash_comment(std::string_view match);
  void unknown_character(std::string_view match);

  /// Appends the end token and returns the result.
  TokenizedFile finish();

 private:
  [[nodiscard]] SourceRange match_range() const;
  void push(int kind, std::string text);
  void error(DiagnosticId id, const SourceRange& range, std::string message, std::vector<DiagnosticNote> notes = {});
  void check_utf8(std::string_view text);
  void limit_nesting();
  /// False if the file has too many tokens and comments; records the first excess one.
  [[nodiscard]] bool has_room();
  void too_large(const SourceRange& place);

  DiagnosticSink& sink_;
  TokenizedFile result_;
  SourceRange begin_;  // only file, line and column are used
  SourceRange here_;
  SourceRange beyond_;  // of the first excess token
  std::uint32_t last_token_line_ = 0;
  std::pair<std::uint32_t, std::string> last_unknown_;  // line and text of the last unknown character
};

/// Runs the scanner over the whole text. Defined in lexer.l.
void run_scanner(LexerState& state, std::string_view text);

}  // namespace tdsl::frontend
