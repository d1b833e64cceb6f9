#include "frontend/hints/syntax_slips.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend_parser.hpp"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;
using Tokens = std::vector<Token>;

/// Tokens of one foreign construct.
struct Found {
  std::size_t begin;
  std::size_t end;
  SourceRange range;
  std::string message;
  std::string value = {};  ///< an integer that replaces it if the grammar requires a value
  int before = 0;          ///< a reserved word to insert before it; the tokens are kept
};

/// Finds foreign constructs by token position; the last token is the end of the file.
class Finder {
 public:
  explicit Finder(const Tokens& tokens) : tokens_(tokens) {}

  [[nodiscard]] std::optional<Found> at(std::size_t i) const {
    const bool begins = behind_statement(i);
    if (is(i, Kind::TOK_NAME) && (begins || tokens_[i].first_on_line)) {
      if (tokens_[i].text == "def") return indented_function(i);
      if (tokens_[i].text == "function") return function_with_end(i);
    }
    if (is(i, Kind::TOK_NAME) && begins) {
      if (auto found = function_without_word(i)) return found;
      if (tokens_[i].text == "do" || tokens_[i].text == "repeat" || tokens_[i].text == "loop") return endless_loop(i);
    }
    if (is(i, Kind::TOK_ASSIGN) && is(i + 1, Kind::TOK_LEFT_BRACE)) return braces(i + 1);
    return std::nullopt;
  }

  /// `x};`: the statement continues after the brace.
  [[nodiscard]] bool ends_expression(std::size_t i) const {
    return !behind_statement(i) && is(i + 1, Kind::TOK_SEMICOLON);
  }

 private:
  [[nodiscard]] bool is(std::size_t i, int kind) const { return i < tokens_.size() && tokens_[i].kind == kind; }

  /// True if the preceding statement has ended. The first token of a line may continue a statement.
  [[nodiscard]] bool behind_statement(std::size_t i) const {
    return i == 0 || is(i - 1, Kind::TOK_SEMICOLON) || is(i - 1, Kind::TOK_LEFT_BRACE) ||
           is(i - 1, Kind::TOK_RIGHT_BRACE);
  }

  /// The position after the last token of the line.
  [[nodiscard]] std::size_t line_end(std::size_t i) const {
    do ++i;
    while (!is(i, Kind::TOK_END) && !tokens_[i].first_on_line);
    return i;
  }

  /// The position after the bracket that closes the one at `i`, or the end of the file.
  [[nodiscard]] std::size_t behind(std::size_t i, int opens, int closes) const {
    int depth = 0;
    for (; !is(i, Kind::TOK_END); ++i) {
      depth += is(i, opens) ? 1 : is(i, closes) ? -1 : 0;
      if (depth == 0) return i + 1;
    }
    return i;
  }

  [[nodiscard]] static std::string function_message(const std::string& name) {
    return "a function is written `fn " + name + "(…) { …; return y; }`";
  }

  /// `def f(x):` and the lines indented deeper.
  [[nodiscard]] std::optional<Found> indented_function(std::size_t i) const {
    if (!is(i + 1, Kind::TOK_NAME) || !is(i + 2, Kind::TOK_LEFT_PAREN)) return std::nullopt;
    const std::size_t header = line_end(i);
    const std::size_t parameters = behind(i + 2, Kind::TOK_LEFT_PAREN, Kind::TOK_RIGHT_PAREN);
    if (parameters > header) return std::nullopt;
    if (!is(parameters, Kind::TOK_COLON) && !is(header - 1, Kind::TOK_COLON)) return std::nullopt;
    std::size_t end = header;
    while (!is(end, Kind::TOK_END) && tokens_[end].range.column > tokens_[i].range.column) end = line_end(end);
    return Found{i, end, tokens_[i].range, function_message(tokens_[i + 1].text)};
  }

  /// `function y = f(x)` to the matching `end`.
  [[nodiscard]] std::optional<Found> function_with_end(std::size_t i) const {
    const std::size_t name = is(i + 2, Kind::TOK_ASSIGN) ? i + 3 : i + 1;
    const std::size_t header = line_end(i);
    if (!is(name, Kind::TOK_NAME) || is(header - 1, Kind::TOK_LEFT_BRACE)) return std::nullopt;
    for (std::size_t end = header; !is(end, Kind::TOK_END); ++end) {
      const Token& token = tokens_[end];
      if (token.first_on_line && token.text == "end" && token.range.column <= tokens_[i].range.column) {
        return Found{i, is(end + 1, Kind::TOK_SEMICOLON) ? end + 2 : end + 1, tokens_[i].range,
                     function_message(tokens_[name].text)};
      }
    }
    return std::nullopt;
  }

  /// `f(x: f64) -> f64 { … }`.
  [[nodiscard]] std::optional<Found> function_without_word(std::size_t i) const {
    if (!is(i + 1, Kind::TOK_LEFT_PAREN) || !statement_word_for(tokens_[i].text).empty()) return std::nullopt;
    const std::size_t end = behind(i + 1, Kind::TOK_LEFT_PAREN, Kind::TOK_RIGHT_PAREN);
    if (!is(end, Kind::TOK_ARROW) && !is(end, Kind::TOK_LEFT_BRACE)) return std::nullopt;
    return Found{i, i + 1, tokens_[i].range, "missing `fn` before `" + tokens_[i].text + "`", {}, Kind::TOK_FN};
  }

  /// `do { … } while (c);`, `repeat { … }`.
  [[nodiscard]] std::optional<Found> endless_loop(std::size_t i) const {
    if (!is(i + 1, Kind::TOK_LEFT_BRACE)) return std::nullopt;
    std::size_t end = behind(i + 1, Kind::TOK_LEFT_BRACE, Kind::TOK_RIGHT_BRACE);
    if (is(end, Kind::TOK_WHILE) || (is(end, Kind::TOK_NAME) && tokens_[end].text == "until")) {
      while (!is(end, Kind::TOK_END) && !is(end, Kind::TOK_SEMICOLON) && !is(end, Kind::TOK_LEFT_BRACE)) ++end;
      if (is(end, Kind::TOK_LEFT_BRACE)) return std::nullopt;
    }
    if (is(end, Kind::TOK_SEMICOLON)) ++end;
    return Found{i, end, tokens_[i].range,
                 "there is no `" + tokens_[i].text +
                     "`; the condition comes first: `var more = true; while more { …; more = c; }`"};
  }

  /// `= { … }`: statements or a list.
  [[nodiscard]] std::optional<Found> braces(std::size_t i) const {
    const std::size_t end = behind(i, Kind::TOK_LEFT_BRACE, Kind::TOK_RIGHT_BRACE);
    bool statements = false;
    for (std::size_t k = i; k < end; ++k) statements = statements || is(k, Kind::TOK_SEMICOLON);
    return Found{
        i, end, tokens_[i].range,
        statements
            ? "unexpected `{`; a value is one expression: statements stand in a function, `fn f(…) { …; return y; }`"
            : "unexpected `{`; an array is written with brackets: [1.0, 2.0]",
        "0"};
  }

  const Tokens& tokens_;
};

}  // namespace

void report_foreign_blocks(TokenizedFile& file, DiagnosticSink& sink) {
  Tokens kept;
  const Finder finder(file.tokens);
  int depth = 0;
  for (std::size_t i = 0; i < file.tokens.size();) {
    const std::optional<Found> found = finder.at(i);
    if (!found) {
      const int kind = file.tokens[i].kind;
      depth += kind == Kind::TOK_LEFT_BRACE ? 1 : kind == Kind::TOK_RIGHT_BRACE ? -1 : 0;
      if (depth < 0 && finder.ends_expression(i)) {
        sink.error(DiagnosticId::kSyntaxError, file.tokens[i].range, "unmatched `}`");
        ++i;
      } else {
        kept.push_back(std::move(file.tokens[i++]));
      }
      depth = std::max(depth, 0);
      continue;
    }
    for (; i < found->begin; ++i) kept.push_back(std::move(file.tokens[i]));
    sink.error(DiagnosticId::kSyntaxError, found->range, found->message);
    if (found->before != 0) {
      kept.push_back({found->before, found->range, "", TokenOrigin::kSynchronisation, false});
      for (; i < found->end; ++i) kept.push_back(std::move(file.tokens[i]));
      continue;
    }
    i = found->end;
    if (found->value.empty()) continue;
    kept.push_back({Kind::TOK_INTEGER, found->range, found->value, TokenOrigin::kSource, false});
    if (file.tokens[i].kind == Kind::TOK_SEMICOLON) continue;
    kept.push_back({Kind::TOK_SEMICOLON, found->range, ";", TokenOrigin::kSynchronisation, false});
  }
  file.tokens = std::move(kept);
}

}  // namespace tdsl::frontend
