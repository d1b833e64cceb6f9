#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "frontend/hints/syntax_slips.h"
#include "frontend/syntax/parse_driver.h"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool is_assignment(const Token& token) {
  static constexpr std::array kAssignments = {
      Kind::TOK_ASSIGN,     Kind::TOK_ADD_ASSIGN,     Kind::TOK_SUB_ASSIGN,    Kind::TOK_MUL_ASSIGN,
      Kind::TOK_DIV_ASSIGN, Kind::TOK_BIT_AND_ASSIGN, Kind::TOK_BIT_OR_ASSIGN, Kind::TOK_BIT_XOR_ASSIGN};
  return std::ranges::find(kAssignments, token.kind) != kAssignments.end();
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case Kind::TOK_END: return "the end of the file";
    case Kind::TOK_STRING: return "a string";
    default: return "`" + token.text + "`";
  }
}

/// The expected tokens in readable form: operators are omitted, and the tokens that start an expression become one
/// item.
std::vector<std::string> summarise(const std::vector<std::string>& expected) {
  static constexpr std::array<std::string_view, 17> kClosers = {";",  ")", "]", "}", ",", "{",  "then", "else",  "in",
                                                                "..", ":", "=", "(", "[", "->", "fn",   "kernel"};
  std::vector<std::string> result;
  const bool statement = contains(expected, "let");
  const bool expression = contains(expected, "an integer") && contains(expected, "(") && contains(expected, "a number");
  if (statement) {
    result.emplace_back("a statement");
  } else if (expression) {
    result.emplace_back("an expression");
  } else if (contains(expected, "an integer")) {
    result.emplace_back("an extent");
  } else if (contains(expected, "a type")) {
    result.emplace_back("a type");
  } else if (contains(expected, "a name") && !contains(expected, ";") && !contains(expected, "=")) {
    result.emplace_back("a name");
  }
  if (contains(expected, "a string") && !expression) { result.emplace_back("a string"); }
  const bool operators = contains(expected, "+");
  for (const std::string_view closer : kClosers) {
    const bool part_of_larger =
        (closer == "(" || closer == "[") && (operators || expression || statement || !result.empty());
    if (contains(expected, closer) && !part_of_larger && !(statement && closer != "}") &&
        !((closer == "=" || closer == ":") && (contains(expected, ")") || contains(expected, "]"))) &&
        !(closer == "kernel" && contains(expected, "a name")) && !(expression && closer != ")" && closer != "]")) {
      result.push_back("`" + std::string(closer) + "`");
    }
  }
  // After a complete expression `;` is always possible; other continuations are noise.
  if (!result.empty() && result.front() == "`;`") { result.resize(1); }
  if (result.size() > 3) { result.resize(3); }
  return result;
}

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += i == 0 ? "" : i + 1 == items.size() ? " or " : ", ";
    text += items[i];
  }
  return text;
}

}  // namespace

bool ParseDriver::ends_statement(std::size_t index) const {
  const int kind = file_.tokens[index].kind;
  return kind == Kind::TOK_SEMICOLON || kind == Kind::TOK_LEFT_BRACE || kind == Kind::TOK_RIGHT_BRACE;
}

/// True if a new statement visibly begins at this token: a statement keyword, or an assignment, at the start of a line.
bool ParseDriver::begins_statement(std::size_t index) const {
  const Token& token = file_.tokens[index];
  if (!token.first_on_line) { return false; }
  switch (token.kind) {
    case Kind::TOK_LET:
    case Kind::TOK_VAR:
    case Kind::TOK_PARAM:
    case Kind::TOK_INPUT:
    case Kind::TOK_OUTPUT:
    case Kind::TOK_IMPORT:
    case Kind::TOK_FN:
    case Kind::TOK_RETURN:
    case Kind::TOK_MONOID:
    case Kind::TOK_EXTERN:
    case Kind::TOK_STORAGE:
    case Kind::TOK_WHILE:
    case Kind::TOK_FOR: return true;
    case Kind::TOK_IF: {
      // An `if` statement has a block, an `if` expression a `then`.
      std::size_t i = index;
      while (!ends_statement(i) && file_.tokens[i].kind != Kind::TOK_THEN && file_.tokens[i].kind != Kind::TOK_END) ++i;
      return file_.tokens[i].kind == Kind::TOK_LEFT_BRACE;
    }
    case Kind::TOK_NAME: {
      const Token& after = file_.tokens[index + 1];
      const bool statement_call =
          (token.text == "print" || token.text == "assert") && after.kind == Kind::TOK_LEFT_PAREN;
      return is_assignment(after) || statement_call;
    }
    default: return false;
  }
}

/// True if a token is inside the braces of a monoid.
bool ParseDriver::in_monoid(std::size_t index) const {
  int depth = 0;
  for (std::size_t i = index; i-- > 0;) {
    const int kind = file_.tokens[i].kind;
    if (kind == Kind::TOK_RIGHT_BRACE) ++depth;
    if (kind != Kind::TOK_LEFT_BRACE || depth-- > 0) continue;
    while (i > 0 && !ends_statement(i - 1)) --i;
    return file_.tokens[i].kind == Kind::TOK_MONOID;
  }
  return false;
}

std::optional<Repair> ParseDriver::find_repair(const std::vector<std::string>& expected) const {
  const std::size_t current = position_ - 1;
  if (current == 0) { return std::nullopt; }
  const Token& found = file_.tokens[current];
  const bool wants_semicolon = contains(expected, ";");
  const bool statement = found.kind == Kind::TOK_RETURN || found.kind == Kind::TOK_LET || found.kind == Kind::TOK_VAR;
  const bool after_else = file_.tokens[current - 1].kind == Kind::TOK_ELSE && found.kind != Kind::TOK_SEMICOLON;
  if (contains(expected, "{") && !wants_semicolon && (found.first_on_line || statement || after_else) &&
      !ends_statement(current - 1)) {
    return Repair{current, Kind::TOK_LEFT_BRACE, TokenOrigin::kMissing};
  }
  // The fields of a monoid are not statements: a statement there means that `}` is missing.
  const std::size_t word = found.kind == Kind::TOK_LEFT_PAREN ? current - 1 : current;
  if (!wants_semicolon && begins_statement(word) && in_monoid(word)) {
    return Repair{word, Kind::TOK_RIGHT_BRACE, TokenOrigin::kMissing};
  }
  const bool closes = found.kind == Kind::TOK_RIGHT_BRACE || found.kind == Kind::TOK_END;
  if (wants_semicolon && !contains(expected, "let") && (found.first_on_line || closes) &&
      found.kind != Kind::TOK_LEFT_BRACE) {
    return Repair{current, Kind::TOK_SEMICOLON, TokenOrigin::kMissing};
  }
  if (found.kind == Kind::TOK_LEFT_BRACE && wants_semicolon) {
    // `let a = b` without ';' before `for i in … {` reads as a suffix up to the brace.
    for (std::size_t i = current; i-- > 1 && !ends_statement(i);) {
      if (file_.tokens[i].kind == Kind::TOK_FOR && file_.tokens[i].first_on_line && !ends_statement(i - 1)) {
        return Repair{i, Kind::TOK_SEMICOLON, TokenOrigin::kMissing};
      }
    }
  }
  for (std::size_t i = current; i < file_.tokens.size(); ++i) {
    const int kind = file_.tokens[i].kind;
    if (kind == Kind::TOK_SEMICOLON || kind == Kind::TOK_LEFT_BRACE || kind == Kind::TOK_END) { return std::nullopt; }
    if ((kind == Kind::TOK_RIGHT_BRACE || begins_statement(i)) && !ends_statement(i - 1)) {
      return Repair{i, Kind::TOK_SEMICOLON, TokenOrigin::kSynchronisation};
    }
    if (kind == Kind::TOK_RIGHT_BRACE) { return std::nullopt; }
  }
  return std::nullopt;
}

/// An unknown character or unclosed string also disturbs the grammar: one message suffices.
bool ParseDriver::near_lexical_error() const {
  const auto bad = [&](std::uint32_t line) {
    return std::binary_search(file_.error_lines.begin(), file_.error_lines.end(), line);
  };
  const std::size_t current = position_ - 1;
  return bad(file_.tokens[current].range.line) || (current > 0 && bad(file_.tokens[current - 1].range.line));
}

/// Points to the unclosed bracket if it is on another line.
std::vector<DiagnosticNote> ParseDriver::unclosed_note(const std::vector<std::string>& expected) const {
  const std::size_t current = position_ - 1;
  int depth = 0;
  for (std::size_t i = current; i-- > 0;) {
    const Token& token = file_.tokens[i];
    switch (token.kind) {
      case Kind::TOK_RIGHT_PAREN:
      case Kind::TOK_RIGHT_BRACKET:
      case Kind::TOK_RIGHT_BRACE: ++depth; break;
      case Kind::TOK_LEFT_PAREN:
      case Kind::TOK_LEFT_BRACKET:
      case Kind::TOK_LEFT_BRACE: {
        if (depth-- > 0) { break; }
        const std::string closer = token.text == "(" ? ")" : token.text == "[" ? "]" : "}";
        if (contains(expected, closer) && token.range.line != file_.tokens[current].range.line) {
          return {{token.range, "to match this `" + token.text + "`"}};
        }
        return {};
      }
      default: break;
    }
  }
  return {};
}

/// The first token of the statement around the current token.
std::size_t ParseDriver::statement_begin() const {
  std::size_t first = position_ - 1;
  while (first > 0 && !ends_statement(first - 1)) { --first; }
  return first;
}

/// The first token of `lett x = 1;`, `inptu X: f64;`, `whlie (a < b) {`: a word that is not a keyword before a name or
/// value that cannot follow it, or before a block.
std::optional<std::size_t> ParseDriver::misspelt_word() const {
  const std::size_t current = position_ - 1;
  const std::size_t first = statement_begin();
  const Token& word = file_.tokens[first];
  if (first == current || word.kind != Kind::TOK_NAME || statement_word_for(word.text).empty()) { return std::nullopt; }
  static constexpr std::array kValues = {Kind::TOK_NAME,  Kind::TOK_INTEGER, Kind::TOK_FLOAT, Kind::TOK_TRUE,
                                         Kind::TOK_FALSE, Kind::TOK_INF,     Kind::TOK_NAN,   Kind::TOK_NOT};
  const bool value = std::find(kValues.begin(), kValues.end(), file_.tokens[first + 1].kind) != kValues.end();
  // The grammar fails at the value or, since `a b=` could be a combining assignment, one token later.
  const bool near = current - first <= 2;
  return (value && near) || file_.tokens[current].kind == Kind::TOK_LEFT_BRACE ? std::optional(first) : std::nullopt;
}

/// `print(where)` after `let where = 3;`: the declaration has been reported.
std::optional<Repair> ParseDriver::use_of_reserved_name() const {
  const std::size_t current = position_ - 1;
  for (const std::size_t place : {current, current - std::min<std::size_t>(current, 1)}) {
    const Token& token = file_.tokens[place];
    const bool reserved =
        token.origin == TokenOrigin::kSource && token.kind != Kind::TOK_NAME && is_reserved_word(token);
    const auto declared = [&](const Token& other) {
      return other.origin == TokenOrigin::kReservedName && other.text == token.text;
    };
    if (reserved && !begins_statement(place) && std::ranges::any_of(file_.tokens, declared)) {
      return Repair{place, Kind::TOK_NAME, TokenOrigin::kReservedUse};
    }
  }
  return std::nullopt;
}

/// `print x;`
bool ParseDriver::lacks_parenthesis() {
  const std::size_t first = statement_begin();
  const Token& word = file_.tokens[first];
  if (position_ - 1 == first || (word.text != "print" && word.text != "assert") || word.kind != Kind::TOK_NAME ||
      file_.tokens[first + 1].kind == Kind::TOK_LEFT_PAREN) {
    return false;
  }
  sink_.error(DiagnosticId::kSyntaxError, file_.tokens[first + 1].range, "missing `(` after `" + word.text + "`");
  return true;
}

void ParseDriver::syntax_error(std::vector<std::string> expected) {
  if (repair_) { return; }
  if (may_repair_) {
    repair_ = use_of_reserved_name();
    if (!repair_) { repair_ = find_repair(expected); }
    if (repair_) { return; }
  }
  if (near_lexical_error()) { return; }
  const std::size_t current = position_ - 1;
  const TokenOrigin origin = file_.tokens[current].origin;
  const bool inserted = origin == TokenOrigin::kMissing || origin == TokenOrigin::kSynchronisation;
  const Token& found = file_.tokens[inserted ? current + 1 : current];
  if (const auto misspelt = misspelt_word()) {
    const Token& word = file_.tokens[*misspelt];
    const std::string meant = statement_word_for(word.text);
    if (may_repair_ && kind_of_word(meant) != word.kind) {
      repair_ = Repair{*misspelt, kind_of_word(meant), TokenOrigin::kMisspelt};
    } else {
      sink_.error(DiagnosticId::kSyntaxError, word.range, unknown_statement(word.text, meant));
    }
    return;
  }
  if (lacks_parenthesis()) { return; }
  const bool wants_name = contains(expected, "a name") && !contains(expected, "a number") && !contains(expected, "let");
  if (wants_name && !contains(expected, "=") && is_reserved_word(found) && !inserted) {
    if (may_repair_) {
      repair_ = Repair{current, Kind::TOK_NAME, TokenOrigin::kReservedName};
    } else {
      sink_.error(DiagnosticId::kReservedName, found.range, reserved_name(found.text));
    }
    return;
  }
  std::string message = known_slip({file_.tokens, inserted ? current + 1 : current, expected});
  if (message.empty() && found.kind == Kind::TOK_STRING && contains(expected, "a number")) {
    sink_.error(DiagnosticId::kMisplacedString, found.range,
                "a string can stand only in print, assert, einsum, import and extern");
    return;
  }
  if (message.empty()) {
    const std::vector<std::string> items = summarise(expected);
    message =
        items.empty() ? "unexpected " + describe(found) : "expected " + listed(items) + " before " + describe(found);
  }
  SourceRange range = inserted ? file_.tokens[current].range : found.range;
  if (found.kind == Kind::TOK_END && current > 0 && !inserted) {
    const SourceRange& last = file_.tokens[current - 1].range;
    range = {last.file, last.end_line, last.end_column, last.end_line, last.end_column + 1};
  }
  // The comment that hides the rest of a line comes after all tokens of it.
  const std::uint32_t line = current > 0 ? file_.tokens[current - 1].range.end_line : 0;
  std::vector<DiagnosticNote> notes;
  if (found.kind == Kind::TOK_END || found.range.line > line) notes = division_note(line, file_);
  std::ranges::move(unclosed_note(expected), std::back_inserter(notes));
  sink_.error(DiagnosticId::kSyntaxError, range, message, std::move(notes));
}

}  // namespace tdsl::frontend
