#include "frontend/syntax/parse_driver.h"

#include <algorithm>
#include <utility>

#include "frontend/hints/syntax_slips.h"
#include "frontend/syntax/parse.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;

/// Limit on insertions: each costs a run, and a file with more is not TDSL.
constexpr int kMaxRepairs = 50;

Token inserted_token(const TokenizedFile& file, const Repair& repair) {
  const SourceRange& before = file.tokens[repair.index - 1].range;
  const SourceRange place{before.file, before.end_line, before.end_column, before.end_line, before.end_column + 1};
  const char* text = repair.kind == Kind::TOK_SEMICOLON ? ";" : repair.kind == Kind::TOK_LEFT_BRACE ? "{" : "}";
  return {repair.kind, place, text, repair.origin, false};
}

/// `if a print(b);`: a block without an opening brace may lack the closing one too. It then ends with its statement.
void close_block(std::size_t open, TokenizedFile& file) {
  std::vector<Token>& tokens = file.tokens;
  const auto count = [&](int kind) { return std::ranges::count(tokens, kind, &Token::kind); };
  if (count(Kind::TOK_LEFT_BRACE) <= count(Kind::TOK_RIGHT_BRACE)) return;
  const auto end = std::find_if(tokens.begin() + static_cast<std::ptrdiff_t>(open), tokens.end(),
                                [](const Token& token) { return token.kind == Kind::TOK_SEMICOLON; });
  if (end == tokens.end()) return;
  tokens.insert(end + 1, Token{Kind::TOK_RIGHT_BRACE, end->range, "}", TokenOrigin::kSynchronisation, false});
}

void apply(const Repair& repair, TokenizedFile& file) {
  const auto place = file.tokens.begin() + static_cast<std::ptrdiff_t>(repair.index);
  if (repair.origin == TokenOrigin::kMissing || repair.origin == TokenOrigin::kSynchronisation) {
    file.tokens.insert(place, inserted_token(file, repair));
    if (repair.kind == Kind::TOK_LEFT_BRACE) close_block(repair.index, file);
    return;
  }
  place->kind = repair.kind;
  place->origin = repair.origin;
  if (repair.origin == TokenOrigin::kReservedUse) return;
  // Other syntax errors on this line have the same cause.
  const auto line = std::lower_bound(file.error_lines.begin(), file.error_lines.end(), place->range.line);
  file.error_lines.insert(line, place->range.line);
}

std::string shown(const Token& token) {
  return token.kind == Kind::TOK_END      ? "the end of the file"
         : token.kind == Kind::TOK_STRING ? "a string"
                                          : "`" + token.text + "`";
}

/// True if the statement before the token was reported as an unused value: `fn f(x) { let y = x; y }`.
bool ends_unused_value(const Token& token, const DiagnosticSink& sink) {
  return std::ranges::any_of(sink.diagnostics(), [&](const Diagnostic& d) {
    return d.id == DiagnosticId::kUnusedExpression && d.range.file == token.range.file &&
           d.range.end_line == token.range.line && d.range.end_column == token.range.column;
  });
}

}  // namespace

std::vector<DiagnosticNote> division_note(std::uint32_t line, const TokenizedFile& file) {
  for (const ast::Comment& comment : file.comments) {
    if (comment.range.line == line && comment.text.starts_with("//") && comment.text.ends_with(';')) {
      return {{comment.range, "`//` begins a comment; integers are divided by `/`, which truncates"}};
    }
  }
  return {};
}

namespace {

void report_missing(const TokenizedFile& file, DiagnosticSink& sink) {
  for (std::size_t i = 0; i + 1 < file.tokens.size(); ++i) {
    const Token& token = file.tokens[i];
    if (token.origin == TokenOrigin::kMisspelt) {
      sink.error(DiagnosticId::kSyntaxError, token.range,
                 unknown_statement(token.text, statement_word_for(token.text)));
    }
    if (token.origin == TokenOrigin::kReservedName) {
      sink.error(DiagnosticId::kReservedName, token.range, reserved_name(token.text));
    }
    // Another error on the line may have hidden the token.
    if (token.origin != TokenOrigin::kMissing || std::ranges::binary_search(file.error_lines, token.range.line) ||
        ends_unused_value(token, sink)) {
      continue;
    }
    const DiagnosticId id =
        token.kind == Kind::TOK_SEMICOLON ? DiagnosticId::kMissingSemicolon : DiagnosticId::kSyntaxError;
    sink.error(id, token.range, "missing `" + token.text + "` before " + shown(file.tokens[i + 1]),
               division_note(token.range.line, file));
  }
}

}  // namespace

const Token& ParseDriver::next() {
  if (repair_ || position_ + 1 >= file_.tokens.size()) {
    position_ = file_.tokens.size();
    return file_.tokens.back();
  }
  return file_.tokens[position_++];
}

void ParseDriver::internal_error(const SourceRange& range, const std::string& message) const {
  TDSL_CHECK(false, "the parser failed at line " + std::to_string(range.line) + ": " + message);
  std::abort();
}

GeneratedParser::symbol_type yylex(ParseDriver& driver) {
  const Token& token = driver.next();
  switch (token.kind) {
    case Kind::TOK_NAME:
    case Kind::TOK_INTEGER:
    case Kind::TOK_FLOAT:
    case Kind::TOK_STRING:
    case Kind::TOK_TYPE:
    case Kind::TOK_BY:
    case Kind::TOK_OUT:
    case Kind::TOK_KERNEL:
    case Kind::TOK_TILE:
    case Kind::TOK_EVERY:
    case Kind::TOK_LITERAL: return {token.kind, token.text, token.range};
    default: return {token.kind, token.range};
  }
}

ParsedText parse_text(const SourceManager& sources, std::uint32_t file, const SourceRange* place) {
  ParsedText result;
  DiagnosticSink& sink = result.messages;
  result.tokens = tokenize(sources, file, sink);
  if (place != nullptr) {
    for (Token& token : result.tokens.tokens) token.range = *place;
  }
  TokenizedFile repaired = result.tokens;
  report_foreign_blocks(repaired, sink);
  for (int repairs = 0;; ++repairs) {
    DiagnosticSink run_sink;
    ParseDriver driver(repaired, run_sink, repairs < kMaxRepairs);
    GeneratedParser parser(driver);
    const bool accepted = parser.parse() == 0;
    if (driver.repair()) {
      const Repair repair = *driver.repair();
      apply(repair, repaired);
      continue;
    }
    sink.add_all(run_sink);
    report_missing(repaired, sink);
    result.complete = !sink.has_errors();
    TDSL_CHECK(accepted || !result.complete, "a file without errors is accepted");
    auto statements = accepted ? driver.builder().take_statements() : driver.builder().take_reached();
    result.module = {file, std::move(statements), std::move(repaired.comments)};
    return result;
  }
}

std::optional<ast::Module> parse_file(const SourceManager& sources, std::uint32_t file, DiagnosticSink& sink,
                                      const SourceRange* place) {
  ParsedText parsed = parse_text(sources, file, place);
  sink.add_all(parsed.messages);
  return parsed.complete ? std::optional(std::move(parsed.module)) : std::nullopt;
}

}  // namespace tdsl::frontend
