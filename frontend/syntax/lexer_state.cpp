#include "frontend/syntax/lexer_state.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "frontend/hints/foreign_words.h"
#include "frontend/hints/text_direction.h"
#include "frontend/syntax/type_words.h"
#include "frontend_parser.hpp"
#include "runtime/base/nearest_name.h"
#include "runtime/types.h"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;

const std::map<std::string, int, std::less<>>& keywords() {
  static const std::map<std::string, int, std::less<>> table = [] {
    std::map<std::string, int, std::less<>> words = {
        {"let", Kind::TOK_LET},       {"var", Kind::TOK_VAR},         {"param", Kind::TOK_PARAM},
        {"input", Kind::TOK_INPUT},   {"output", Kind::TOK_OUTPUT},   {"import", Kind::TOK_IMPORT},
        {"fn", Kind::TOK_FN},         {"return", Kind::TOK_RETURN},   {"monoid", Kind::TOK_MONOID},
        {"extern", Kind::TOK_EXTERN}, {"storage", Kind::TOK_STORAGE}, {"tile", Kind::TOK_TILE},
        {"for", Kind::TOK_FOR},       {"in", Kind::TOK_IN},           {"while", Kind::TOK_WHILE},
        {"if", Kind::TOK_IF},         {"then", Kind::TOK_THEN},       {"else", Kind::TOK_ELSE},
        {"where", Kind::TOK_WHERE},   {"sparse", Kind::TOK_SPARSE},   {"true", Kind::TOK_TRUE},
        {"false", Kind::TOK_FALSE},   {"inf", Kind::TOK_INF},         {"nan", Kind::TOK_NAN},
        {"by", Kind::TOK_BY},         {"out", Kind::TOK_OUT},         {"kernel", Kind::TOK_KERNEL},
        {"every", Kind::TOK_EVERY},
    };
    for (const rt::ElementInfo& info : rt::kElementTypes) {
      if (!rt::is_contextual(info.type)) words.emplace(info.name, Kind::TOK_TYPE);
    }
    return words;
  }();
  return table;
}

const std::map<std::string, int, std::less<>>& symbols() {
  static const std::map<std::string, int, std::less<>> table = {
      {"+", Kind::TOK_PLUS},
      {"-", Kind::TOK_MINUS},
      {"*", Kind::TOK_STAR},
      {"/", Kind::TOK_SLASH},
      {"%", Kind::TOK_PERCENT},
      {"@", Kind::TOK_AT},
      {"**", Kind::TOK_POWER},
      {"=", Kind::TOK_ASSIGN},
      {"+=", Kind::TOK_ADD_ASSIGN},
      {"-=", Kind::TOK_SUB_ASSIGN},
      {"*=", Kind::TOK_MUL_ASSIGN},
      {"/=", Kind::TOK_DIV_ASSIGN},
      {"==", Kind::TOK_EQUAL},
      {"!=", Kind::TOK_NOT_EQUAL},
      {"<", Kind::TOK_LESS},
      {"<=", Kind::TOK_LESS_EQUAL},
      {">", Kind::TOK_GREATER},
      {">=", Kind::TOK_GREATER_EQUAL},
      {"&&", Kind::TOK_AND},
      {"||", Kind::TOK_OR},
      {"!", Kind::TOK_NOT},
      {"'", Kind::TOK_QUOTE},
      {"(", Kind::TOK_LEFT_PAREN},
      {")", Kind::TOK_RIGHT_PAREN},
      {"[", Kind::TOK_LEFT_BRACKET},
      {"]", Kind::TOK_RIGHT_BRACKET},
      {"{", Kind::TOK_LEFT_BRACE},
      {"}", Kind::TOK_RIGHT_BRACE},
      {",", Kind::TOK_COMMA},
      {";", Kind::TOK_SEMICOLON},
      {":", Kind::TOK_COLON},
      {".", Kind::TOK_DOT},
      {"..", Kind::TOK_DOT_DOT},
      {"->", Kind::TOK_ARROW},
      {"...", Kind::TOK_ELLIPSIS},
      {"&", Kind::TOK_BIT_AND},
      {"|", Kind::TOK_BIT_OR},
      {"^", Kind::TOK_BIT_XOR},
      {"~", Kind::TOK_BIT_NOT},
      {"<<", Kind::TOK_SHIFT_LEFT},
      {">>", Kind::TOK_SHIFT_RIGHT},
      {"&=", Kind::TOK_BIT_AND_ASSIGN},
      {"|=", Kind::TOK_BIT_OR_ASSIGN},
      {"^=", Kind::TOK_BIT_XOR_ASSIGN},
  };
  return table;
}

/// Length of the valid UTF-8 sequence at the start of `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) { return 1; }
  if (lead >= 0xC2 && lead < 0xE0 && follows(1)) { return 2; }
  if (lead >= 0xE0 && lead < 0xF0 && follows(1) && follows(2)) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xF0 && lead < 0xF5 && follows(1) && follows(2) && follows(3)) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool too_large = lead == 0xF4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

char hexadecimal_digit(char byte) { return "0123456789ABCDEF"[(static_cast<unsigned char>(byte) - 0xA0U) & 0xFU]; }

/// Limit on tokens and comments, above that of any realistic file. A million would take 70 MB before parsing.
constexpr std::size_t kMostTokens = 500'000;

std::string without_underscores(std::string_view text) {
  std::string result(text);
  std::erase(result, '_');
  return result;
}

bool is_number(std::string_view text) {
  const std::string digits = without_underscores(text);
  double value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return end == digits.data() + digits.size();
}

}  // namespace

LexerState::LexerState(const SourceManager& sources, std::uint32_t file, DiagnosticSink& sink) : sink_(sink) {
  here_ = {file, 1, 1, 1, 1};
  begin_ = here_;
  check_utf8(sources.text(file));
}

void LexerState::scan(std::string_view text) {
  // The scanner counts bytes with an int.
  if (text.size() >= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    beyond_ = here_;
    return;
  }
  run_scanner(*this, text);
}

void LexerState::advance(std::string_view match) {
  begin_ = here_;
  const std::size_t last_line_end = match.rfind('\n');
  if (last_line_end != std::string_view::npos) {
    here_.line += static_cast<std::uint32_t>(std::count(match.begin(), match.end(), '\n'));
    here_.column = 1;
    match.remove_prefix(last_line_end + 1);
  }
  here_.column += utf8_length(match);
}

SourceRange LexerState::match_range() const {
  return {begin_.file, begin_.line, begin_.column, here_.line, here_.column};
}

bool LexerState::has_room() {
  if (result_.tokens.size() + result_.comments.size() < kMostTokens) return true;
  if (!beyond_.known()) beyond_ = match_range();
  return false;
}

void LexerState::push(int kind, std::string text) {
  if (!has_room()) return;
  const SourceRange range = match_range();
  result_.tokens.push_back({kind, range, std::move(text), TokenOrigin::kSource, range.line != last_token_line_});
  last_token_line_ = range.end_line;
}

void LexerState::error(DiagnosticId id, const SourceRange& range, std::string message,
                       std::vector<DiagnosticNote> notes) {
  sink_.error(id, range, std::move(message), std::move(notes));
  result_.error_lines.push_back(range.line);
}

void LexerState::check_utf8(std::string_view text) {
  SourceRange place = here_;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    place.end_line = place.line;
    place.end_column = place.column + 1;
    if (length == 0) {
      error(DiagnosticId::kBadUtf8, place, "this is not valid UTF-8 text");
      return;  // a file in another encoding would yield an error per word
    }
    if (begins_with_direction(text)) {
      error(DiagnosticId::kHiddenCharacter, place,
            "a control character for right-to-left text (U+20" + std::string(text[1] == '\x80' ? "2" : "6") +
                hexadecimal_digit(text[2]) + ") makes the line look other than it is compiled; remove it");
    }
    if (text.front() == '\n') {
      ++place.line;
      place.column = 0;
    }
    ++place.column;
    text.remove_prefix(length);
  }
}

void LexerState::word(std::string_view match) { push(kind_of_word(match), std::string(match)); }

void LexerState::integer(std::string_view match) {
  if (!integer_value(match)) {
    error(DiagnosticId::kIntegerOverflow, match_range(), "the integer " + std::string(match) + " does not fit 64 bits");
    push(Kind::TOK_INTEGER, "0");
    return;
  }
  push(Kind::TOK_INTEGER, std::string(match));
}

void LexerState::floating(std::string_view match) {
  const std::string digits = without_underscores(match);
  double value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // Values that underflow to 0 also report out of range, but are legal.
  if (status == std::errc::result_out_of_range && std::isinf(std::strtod(digits.c_str(), nullptr))) {
    error(DiagnosticId::kFloatOverflow, match_range(), "the number " + std::string(match) + " is too large for f64");
    push(Kind::TOK_FLOAT, "0.0");
    return;
  }
  push(Kind::TOK_FLOAT, std::string(match));
}

void LexerState::bad_number(std::string_view match) {
  std::string message = "malformed number `" + std::string(match) + "`";
  const std::size_t digits = match.find_first_not_of("0123456789_");
  if (match.front() == '.' && !result_.tokens.empty() && result_.tokens.back().kind == Kind::TOK_DOT_DOT) {
    message += ": a range is written `a..b`, with two points";
  } else if (match.front() == '.') {
    message += ": a point needs digits on both sides; write `0" + std::string(match) + "`";
  } else if (match.back() == '.') {
    message += ": a point needs digits on both sides; write `" + std::string(match) + "0`";
  } else if (match.starts_with("0x") || match.starts_with("0b")) {
    message += match[1] == 'x' ? ": a hexadecimal number has the digits 0 to 9 and A to F"
                               : ": a binary number has the digits 0 and 1";
  } else if (match.starts_with("0o") || match.starts_with("0X") || match.starts_with("0B")) {
    message += ": integers are written in decimal, as 0xFF or as 0b1010";
  } else if (match.back() == '+' || match.back() == '-' || match.back() == 'e' || match.back() == 'E') {
    message += ": the exponent has no digits";
  } else if (match.back() == '_') {
    message += ": `_` stands between digits";
  } else if (match.back() == 'j' && is_number(match.substr(0, match.size() - 1))) {
    message += ": the imaginary unit is `i`; write `" + std::string(match.substr(0, match.size() - 1)) + "i`";
  } else if (digits != std::string_view::npos && match[digits] != '.') {
    message += "; a product needs `*`";
  }
  error(DiagnosticId::kBadNumber, match_range(), message);
  push(Kind::TOK_FLOAT, "0.0");
}

void LexerState::string(std::string_view match) {
  std::string value;
  if (const std::size_t nul = match.find('\0'); nul != std::string_view::npos) {
    SourceRange range = match_range();
    range.column += utf8_length(match.substr(0, nul));
    range.end_column = range.column + 1;
    error(DiagnosticId::kHiddenCharacter, range, "a string cannot hold a NUL character");
  }
  for (std::size_t i = 1; i + 1 < match.size(); ++i) {
    if (match[i] != '\\') {
      value += match[i];
      continue;
    }
    ++i;
    switch (match[i]) {
      case 'n': value += '\n'; break;
      case 't': value += '\t'; break;
      case '"': value += '"'; break;
      case '\\': value += '\\'; break;
      default: {
        SourceRange range = match_range();
        range.column += utf8_length(match.substr(0, i - 1));
        range.end_column = range.column + 2;
        const std::string escape =
            "\\" + std::string(match.substr(i, std::max<std::size_t>(1, sequence_length(match.substr(i)))));
        error(DiagnosticId::kBadEscape, range, "unknown escape `" + escape + R"(`; the escapes are \\ \" \n \t)");
      }
    }
  }
  push(Kind::TOK_STRING, std::move(value));
}

void LexerState::unterminated_string(std::string_view match) {
  error(DiagnosticId::kUnterminatedString, match_range(), "this string has no closing `\"` on its line");
  push(Kind::TOK_STRING, std::string(match.substr(1)));
}

void LexerState::symbol(std::string_view match) { push(symbols().find(match)->second, std::string(match)); }

void LexerState::comment(std::string_view match) {
  while (!match.empty() && match.back() == '\r') { match.remove_suffix(1); }
  if (has_room()) result_.comments.push_back({match_range(), std::string(match)});
}

void LexerState::unterminated_comment() {
  error(DiagnosticId::kUnterminatedComment, match_range(), "this comment has no `*/`");
}

void LexerState::hash_comment(std::string_view match) {
  SourceRange range = match_range();
  range.end_column = range.column + 1;
  error(DiagnosticId::kUnknownCharacter, range, "unknown character `#`" + character_hint(match.substr(0, 1)));
}

void LexerState::unknown_character(std::string_view match) {
  if (sequence_length(match) == 0 || begins_with_direction(match)) {
    return;  // reported before scanning
  }
  std::string message;
  const auto code = static_cast<unsigned char>(match.front());
  if (match.size() == 1 && (code < 0x20 || code == 0x7F)) {
    message = "unknown control character " + std::to_string(code);
  } else {
    const std::string quote = match == "`" ? "\"" : "`";
    message = "unknown character " + quote + std::string(match) + quote;
  }
  // `|x|` is one mistake.
  if (std::exchange(last_unknown_, {begin_.line, std::string(match)}) == std::pair(begin_.line, std::string(match))) {
    return;
  }
  error(DiagnosticId::kUnknownCharacter, match_range(), message + character_hint(match));
}

void LexerState::limit_nesting() {
  std::uint32_t depth = 0;
  std::uint32_t blocks = 0;
  std::uint32_t signs = 0;
  for (std::size_t i = 0; i < result_.tokens.size(); ++i) {
    const Token& token = result_.tokens[i];
    const bool opens = token.kind == Kind::TOK_LEFT_PAREN || token.kind == Kind::TOK_LEFT_BRACKET ||
                       token.kind == Kind::TOK_LEFT_BRACE;
    const bool closes = token.kind == Kind::TOK_RIGHT_PAREN || token.kind == Kind::TOK_RIGHT_BRACKET ||
                        token.kind == Kind::TOK_RIGHT_BRACE;
    depth = opens ? depth + 1 : closes && depth > 0 ? depth - 1 : depth;
    blocks = token.kind == Kind::TOK_LEFT_BRACE                  ? blocks + 1
             : token.kind == Kind::TOK_RIGHT_BRACE && blocks > 0 ? blocks - 1
                                                                 : blocks;
    signs =
        token.kind == Kind::TOK_MINUS || token.kind == Kind::TOK_NOT || token.kind == Kind::TOK_BIT_NOT ? signs + 1 : 0;
    if (depth >= ast::kMaxDepth || signs >= ast::kMaxDepth || blocks > ast::kMaxBlocks) {
      error(DiagnosticId::kNestingTooDeep, token.range,
            blocks > ast::kMaxBlocks ? "blocks nest more than " + std::to_string(ast::kMaxBlocks) + " deep"
                                     : "brackets or signs nest more than " + std::to_string(ast::kMaxDepth) + " deep");
      here_ = token.range;
      result_.tokens.resize(i);
      return;
    }
  }
}

void LexerState::too_large(const SourceRange& place) {
  error(DiagnosticId::kFileTooLarge, place,
        "the file has more than " + std::to_string(kMostTokens) +
            " words, signs and comments; data belongs into an input");
  here_ = place;
  result_.tokens.clear();
}

TokenizedFile LexerState::finish() {
  if (beyond_.known()) too_large(beyond_);
  limit_nesting();
  begin_ = here_;
  push(Kind::TOK_END, "");
  std::sort(result_.error_lines.begin(), result_.error_lines.end());
  return std::move(result_);
}

TokenizedFile tokenize(const SourceManager& sources, std::uint32_t file, DiagnosticSink& sink) {
  LexerState state(sources, file, sink);
  state.scan(sources.text(file));
  TokenizedFile tokenized = state.finish();
  mark_type_words(tokenized.tokens);
  return tokenized;
}

bool is_reserved_word(const Token& token) {
  const bool contextual = token.kind == Kind::TOK_BY || token.kind == Kind::TOK_OUT || token.kind == Kind::TOK_KERNEL ||
                          token.kind == Kind::TOK_TILE || token.kind == Kind::TOK_EVERY;
  return !contextual && keywords().contains(token.text) && token.kind != Kind::TOK_STRING;
}

std::vector<std::string> words_of_grammar() {
  std::vector<std::string> words;
  for (const auto& [word, kind] : keywords()) words.push_back(word);
  return words;
}

int kind_of_word(std::string_view word) {
  const auto found = keywords().find(word == "else if" ? "if" : word);
  return found == keywords().end() ? static_cast<int>(Kind::TOK_NAME) : found->second;
}

std::string statement_word_for(const std::string& word) {
  static const std::vector<std::string> words = {"let",   "var",    "param",  "input",  "output",  "import",
                                                 "fn",    "return", "monoid", "extern", "storage", "for",
                                                 "while", "if",     "print",  "assert"};
  const std::string foreign = statement_word(word);
  return foreign.empty() ? rt::nearest_name(word, words) : foreign;
}

std::string unknown_statement(const std::string& word, const std::string& meant) {
  const std::string type = foreign_type(word);
  const std::string instead =
      type.empty() ? "did you mean `" + meant + "`?" : "a declaration is written `let x: " + type + " = …`";
  return "unknown statement `" + word + "`; " + instead;
}

std::string reserved_name(const std::string& word) {
  return "`" + word + "` is a reserved word and cannot be used as a name";
}

std::optional<std::uint64_t> integer_value(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  const int base = digits.starts_with("0x") ? 16 : digits.starts_with("0b") ? 2 : 10;
  const char* const begin = digits.data() + (base == 10 ? 0 : 2);
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(begin, digits.data() + digits.size(), value, base);
  return status == std::errc() ? std::optional(value) : std::nullopt;
}

std::string quoted_string(const std::string& value) {
  std::string result = "\"";
  for (const char c : value) {
    switch (c) {
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      default: result += c;
    }
  }
  return result + "\"";
}

}  // namespace tdsl::frontend
