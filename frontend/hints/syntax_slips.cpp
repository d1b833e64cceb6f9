#include "frontend/hints/syntax_slips.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "frontend/hints/foreign_words.h"
#include "frontend_parser.hpp"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;

constexpr std::string_view kChoice = "a choice is written `if c then a else b`";
constexpr std::string_view kLoop = "a loop runs over a range: `for i in 0..n { … }`";
constexpr std::array<std::string_view, 11> kReductions = {"sum", "prod",  "min",  "max",    "mean",  "any",
                                                          "all", "count", "norm", "argmin", "argmax"};

/// The position of the problem and its context.
class Place {
 public:
  explicit Place(const SyntaxProblem& p) : tokens_(p.tokens), at_(p.at), expected_(p.expected) {}

  [[nodiscard]] bool could_be(std::string_view token) const {
    return std::ranges::find(expected_, token) != expected_.end();
  }
  /// An expression may begin here.
  [[nodiscard]] bool wants_expression() const { return could_be("an integer") && could_be("("); }
  /// An expression may end here.
  [[nodiscard]] bool after_expression() const { return could_be("+") && could_be("@"); }

  [[nodiscard]] const Token& found() const { return tokens_[at_]; }
  [[nodiscard]] bool is(int kind) const { return found().kind == kind; }
  /// The token `steps` after the current one; the end token beyond the file.
  [[nodiscard]] const Token& after(std::size_t steps = 1) const {
    return tokens_[std::min(at_ + steps, tokens_.size() - 1)];
  }
  /// The token `steps` before the current one; an empty one before the file.
  [[nodiscard]] const Token& before(std::size_t steps = 1) const {
    static const Token none;
    return steps > at_ ? none : tokens_[at_ - steps];
  }
  /// True if two tokens are adjacent without space.
  [[nodiscard]] static bool joined(const Token& first, const Token& second) {
    return first.range.end_line == second.range.line && first.range.end_column == second.range.column;
  }
  /// True if the found token is the last on its line.
  [[nodiscard]] bool line_ends() const {
    return after().first_on_line || after().origin == TokenOrigin::kSynchronisation;
  }
  /// The innermost unclosed bracket around this position, within the statement.
  [[nodiscard]] std::optional<std::size_t> opening() const { return opening_before(at_); }
  [[nodiscard]] std::optional<std::size_t> opening_before(std::size_t place) const;
  /// `f` of `f(…` and `sum` of `sum[k](…` for the `(` at `open`, else empty.
  [[nodiscard]] std::string_view callee(std::optional<std::size_t> open) const;
  /// `f` of the `f[…]` before the found token, else empty.
  [[nodiscard]] std::string_view subscripted() const;
  [[nodiscard]] int kind_at(std::size_t place) const { return tokens_[place].kind; }
  /// The first token of the statement.
  [[nodiscard]] std::size_t statement() const;
  /// True if the token `steps` before is the first of the statement.
  [[nodiscard]] bool begins_statement(std::size_t steps) const { return statement() + steps == at_; }
  /// True if a token of this kind follows in this statement.
  [[nodiscard]] bool follows(int kind) const;

 private:
  [[nodiscard]] static bool ends_statement(const Token& token) {
    return token.kind == Kind::TOK_SEMICOLON || token.kind == Kind::TOK_LEFT_BRACE ||
           token.kind == Kind::TOK_RIGHT_BRACE;
  }

  const std::vector<Token>& tokens_;
  std::size_t at_;
  const std::vector<std::string>& expected_;
};

std::optional<std::size_t> Place::opening_before(std::size_t place) const {
  int depth = 0;
  for (std::size_t i = place; i-- > 0 && !ends_statement(tokens_[i]);) {
    const int kind = tokens_[i].kind;
    if (kind == Kind::TOK_RIGHT_PAREN || kind == Kind::TOK_RIGHT_BRACKET) ++depth;
    if ((kind == Kind::TOK_LEFT_PAREN || kind == Kind::TOK_LEFT_BRACKET) && depth-- == 0) return i;
  }
  return std::nullopt;
}

std::string_view Place::callee(std::optional<std::size_t> open) const {
  const bool call =
      open && *open > 0 && tokens_[*open].kind == Kind::TOK_LEFT_PAREN && tokens_[*open - 1].kind == Kind::TOK_NAME;
  return call ? std::string_view(tokens_[*open - 1].text) : std::string_view();
}

std::string_view Place::subscripted() const {
  const std::optional<std::size_t> open = at_ == 0 ? std::nullopt : opening_before(at_ - 1);
  const bool named = open && *open > 0 && tokens_[*open - 1].kind == Kind::TOK_NAME;
  return named ? std::string_view(tokens_[*open - 1].text) : std::string_view();
}

std::size_t Place::statement() const {
  std::size_t first = at_;
  while (first > 0 && !ends_statement(tokens_[first - 1])) --first;
  return first;
}

bool Place::follows(int kind) const {
  for (std::size_t i = at_ + 1; i < tokens_.size() && !ends_statement(tokens_[i]); ++i) {
    if (tokens_[i].kind == kind) return true;
  }
  return false;
}

std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

/// `x++` or `++x`, whether the grammar stops at the first sign, at the second or after them.
std::string doubled(const Place& p, int kind, const std::string& sign) {
  const auto message = [&](const Token& in_front, const Token& last_sign, const Token& behind) -> std::string {
    const bool prefix =
        in_front.kind != Kind::TOK_NAME && behind.kind == Kind::TOK_NAME && Place::joined(last_sign, behind);
    if (!prefix && in_front.kind != Kind::TOK_NAME && in_front.kind != Kind::TOK_RIGHT_BRACKET) return {};
    const std::string name = prefix ? behind.text : in_front.kind == Kind::TOK_NAME ? in_front.text : "x[i]";
    return "there is no `" + sign + sign + "`; write " + quoted(name + " " + sign + "= 1");
  };
  const auto pair = [&](const Token& first, const Token& second) {
    return first.kind == kind && second.kind == kind && Place::joined(first, second);
  };
  if (pair(p.found(), p.after())) return message(p.before(), p.after(), p.after(2));
  if (pair(p.before(), p.found())) return message(p.before(2), p.found(), p.after());
  if (pair(p.before(2), p.before())) return message(p.before(3), p.before(), p.found());
  return {};
}

/// `x++`, `x--`, `x **= 2`.
std::string assignment_slip(const Place& p) {
  if (const std::string message = doubled(p, Kind::TOK_PLUS, "+"); !message.empty()) return message;
  if (const std::string message = doubled(p, Kind::TOK_MINUS, "-"); !message.empty()) return message;
  if ((p.is(Kind::TOK_POWER) || p.is(Kind::TOK_PERCENT) || p.is(Kind::TOK_SHIFT_LEFT) || p.is(Kind::TOK_SHIFT_RIGHT)) &&
      p.after().kind == Kind::TOK_ASSIGN && p.before().kind == Kind::TOK_NAME) {
    const std::string& name = p.before().text;
    return "there is no " + quoted(p.found().text + "=") + "; write " +
           quoted(name + " = " + name + " " + p.found().text + " …");
  }
  if (p.is(Kind::TOK_ASSIGN) && p.before().kind == Kind::TOK_COLON && p.could_be("a type"))
    return "unexpected `:=`; did you mean `=`?";
  return {};
}

/// Foreign operators.
std::string operator_slip(const Place& p) {
  if (p.is(Kind::TOK_ASSIGN) && p.before().kind == Kind::TOK_EQUAL) return "unexpected `===`; did you mean `==`?";
  if (p.is(Kind::TOK_GREATER) && p.before().kind == Kind::TOK_LESS) return "unexpected `<>`; did you mean `!=`?";
  if (p.is(Kind::TOK_ASSIGN) && p.before().kind == Kind::TOK_DOT_DOT)
    return "unexpected `..=`; the range a..b ends before b: write a..b + 1";
  if (p.is(Kind::TOK_ASSIGN) && p.could_be("==")) return "unexpected `=`; did you mean `==`?";
  if (p.is(Kind::TOK_EQUAL) && p.could_be("=")) return "unexpected `==`; did you mean `=`?";
  if (p.is(Kind::TOK_PLUS) && p.wants_expression()) return "there is no unary `+`";
  if (p.is(Kind::TOK_BIT_OR) && p.wants_expression()) return "unexpected `|`; the absolute value is abs(x)";
  if (p.is(Kind::TOK_DOT) && (p.after().kind == Kind::TOK_STAR || p.after().kind == Kind::TOK_SLASH))
    return "unexpected `.`; " + quoted(p.after().text) +
           " works element by element, and products of matrices are A @ B";
  if ((p.is(Kind::TOK_PERCENT) || p.is(Kind::TOK_MINUS)) && p.found().first_on_line && p.could_be("let"))
    return "expected a statement before " + quoted(p.found().text) + "; comments begin with `//`";
  return {};
}

std::string shown(const Token& token) { return token.kind == Kind::TOK_STRING ? "string" : quoted(token.text); }

/// Strings: quotes, formatting, joining.
std::string string_slip(const Place& p) {
  static constexpr std::string_view kItems = "print separates its items by commas: print(\"x =\", x)";
  if (p.is(Kind::TOK_QUOTE) && p.wants_expression()) return "unexpected `'`; strings are written with double quotes";
  if (p.is(Kind::TOK_STRING) && p.before().kind == Kind::TOK_NAME && p.before().text.size() == 1 &&
      Place::joined(p.before(), p.found()))
    return "there are no formatted strings; " + std::string(kItems);
  if (p.callee(p.opening()) != "print" && p.callee(p.opening_before(p.opening().value_or(0))) != "print") return {};
  static constexpr std::array kJoining = {Kind::TOK_PLUS,  Kind::TOK_PERCENT, Kind::TOK_AT,     Kind::TOK_STAR,
                                          Kind::TOK_DOT,   Kind::TOK_NAME,    Kind::TOK_STRING, Kind::TOK_INTEGER,
                                          Kind::TOK_FLOAT, Kind::TOK_LESS};
  const bool joining = std::ranges::find(kJoining, p.found().kind) != kJoining.end() && !p.found().first_on_line;
  if ((p.before().kind == Kind::TOK_STRING && joining) || (p.is(Kind::TOK_STRING) && p.before().kind == Kind::TOK_PLUS))
    return "unexpected " + shown(p.found()) + "; " + std::string(kItems);
  return {};
}

/// Dimensions of types, which have their own expression grammar.
std::string dimension_slip(const Place& p) {
  static constexpr std::array kBeyond = {
      Kind::TOK_LEFT_PAREN,  Kind::TOK_POWER,      Kind::TOK_AT,      Kind::TOK_DOT,           Kind::TOK_LEFT_BRACKET,
      Kind::TOK_LESS,        Kind::TOK_LESS_EQUAL, Kind::TOK_GREATER, Kind::TOK_GREATER_EQUAL, Kind::TOK_SHIFT_LEFT,
      Kind::TOK_SHIFT_RIGHT, Kind::TOK_BIT_AND,    Kind::TOK_BIT_OR,  Kind::TOK_BIT_XOR};
  static const std::string rule =
      "a dimension is built from integers, dimension names, params and integer scalars with + - * / % ( )";
  const bool within = p.could_be("%") && !p.could_be("@");
  if (within && std::ranges::find(kBeyond, p.found().kind) != kBeyond.end()) {
    const bool call = p.is(Kind::TOK_LEFT_PAREN) && p.before().kind == Kind::TOK_NAME;
    return rule + "; give the value a name first: `let k = " + (call ? p.before().text + "(…)" : "…") + ";`";
  }
  if (p.is(Kind::TOK_LEFT_BRACKET) && p.before().kind == Kind::TOK_RIGHT_BRACKET && p.could_be("storage"))
    return "unexpected `[`; the sizes stand in one pair of brackets: f64[n, m]";
  return {};
}

std::string storage_slip(const Place& p) {
  constexpr std::size_t kFar = 64;
  if (p.before().kind != Kind::TOK_SPARSE) return {};
  std::size_t open = 1;
  while (open < kFar && p.before(open).kind != Kind::TOK_LEFT_BRACKET) ++open;
  return p.before(open + 1).text == "stored"
             ? "a storage whose stored tensor has sparse dimensions is not supported yet"
             : "";
}

std::string type_slip(const Place& p) {
  if (p.is(Kind::TOK_TYPE) && p.before().kind == Kind::TOK_NAME && p.could_be(":"))
    return "unexpected " + quoted(p.found().text) + "; a type follows a colon: `" + p.before().text + ": " +
           p.found().text + "`";
  const bool type = p.could_be("a type") && !p.could_be("an integer");
  if (type && p.is(Kind::TOK_NAME)) return quoted(p.found().text) + " is not a type" + type_hint(p.found().text);
  if (type && p.is(Kind::TOK_LEFT_BRACKET))
    return "expected a type before `[`; the type of the elements comes first: f64[n, m]";
  if (p.is(Kind::TOK_NAME) && p.before().kind == Kind::TOK_TYPE && p.could_be("("))
    return p.begins_statement(1) ? "a declaration is written `let " + p.found().text + ": " + p.before().text + " = …`"
                                 : "a cast is written " + p.before().text + "(" + p.found().text + ")";
  const bool cast_of_type = p.is(Kind::TOK_RIGHT_PAREN) && p.before().kind == Kind::TOK_TYPE;
  if (cast_of_type && p.before(2).kind == Kind::TOK_LEFT_PAREN) return "a cast is written " + p.before().text + "(x)";
  const bool operand = p.is(Kind::TOK_NAME) || p.is(Kind::TOK_INTEGER) || p.is(Kind::TOK_FLOAT);
  const bool cast_of_word =
      operand && p.before().kind == Kind::TOK_RIGHT_PAREN && p.before(3).kind == Kind::TOK_LEFT_PAREN;
  if (const std::string meant = foreign_type(p.before(2).text); cast_of_word && !meant.empty())
    return "a cast is written " + meant + "(" + p.found().text + ")";
  if (p.is(Kind::TOK_NAME) && p.found().text == "as" && p.after().kind == Kind::TOK_TYPE)
    return "a cast is written " + p.after().text + "(x)";
  return {};
}

/// `x.shape`, `A.T`, `np.sum(x)`.
std::string member_slip(const Place& p) {
  const bool value = p.before().kind == Kind::TOK_NAME || p.before().kind == Kind::TOK_RIGHT_PAREN ||
                     p.before().kind == Kind::TOK_RIGHT_BRACKET;
  if (!p.is(Kind::TOK_DOT) || !value || !p.could_be("[") || p.after().text.empty()) return {};
  // In `np.linalg.solve` the last name counts.
  std::size_t last = 1;
  while (is_foreign_module(p.before().text) && p.after(last + 1).kind == Kind::TOK_DOT &&
         p.after(last + 2).kind == Kind::TOK_NAME)
    last += 2;
  const std::string object = p.before().kind == Kind::TOK_NAME ? p.before().text : "x";
  return "unexpected `.`" + member_hint(object, p.after(last).text, p.after(last + 1).kind == Kind::TOK_LEFT_PAREN);
}

std::string loop_slip(const Place& p) {
  const bool in_loop = p.kind_at(p.statement()) == Kind::TOK_FOR;
  if (p.is(Kind::TOK_COLON) && (p.could_be("{") || p.could_be("..")) &&
      (p.line_ends() || p.after().kind == Kind::TOK_LEFT_BRACE))
    return "unexpected `:`; a block stands in braces: `{ … }`";
  if (p.is(Kind::TOK_COLON) && p.could_be("..")) return "unexpected `:`; a range is written `a..b`";
  if (p.is(Kind::TOK_LEFT_PAREN) && p.before().kind == Kind::TOK_FOR) {
    const bool ranged = p.after().kind == Kind::TOK_NAME && p.after(2).kind == Kind::TOK_IN;
    return "unexpected `(`; " +
           (ranged ? "a loop is written without parentheses: `for i in 0..n { … }`" : std::string(kLoop));
  }
  const std::optional<std::size_t> open = p.opening();
  const bool in_brackets = open && p.kind_at(*open) == Kind::TOK_LEFT_BRACKET;
  if (in_brackets && p.is(Kind::TOK_ASSIGN) && p.follows(Kind::TOK_DOT_DOT))
    return "unexpected `=`; a range is written `i in a..b`";
  if (in_brackets && p.is(Kind::TOK_ASSIGN)) return "expected `]` before `=`";
  if (in_brackets && p.is(Kind::TOK_DOT_DOT))
    return "unexpected `..`; a slice is written `a:b`, a reduction's range `i in a..b`";
  if (open && p.is(Kind::TOK_DOT_DOT)) return "unexpected `..`; a range stands without parentheses: `for i in a..b`";
  if (p.is(Kind::TOK_ELLIPSIS) && p.could_be(".."))
    return "unexpected `...`; a range is written `a..b`, with two points";
  if (p.is(Kind::TOK_DOT_DOT) && p.after_expression())
    return "unexpected `..`; a range follows `in`, and iota(n) is the tensor 0, 1, … n - 1";
  if ((p.is(Kind::TOK_ASSIGN) || p.is(Kind::TOK_COLON)) && p.could_be("in"))
    return "unexpected " + quoted(p.found().text) + "; " +
           (in_loop ? std::string(kLoop) : "a range is written `for i in a..b`");
  if (p.is(Kind::TOK_NAME) && in_loop && p.could_be("in") && !foreign_type(p.before().text).empty())
    return "unexpected " + quoted(p.found().text) + "; " + std::string(kLoop);
  if (p.is(Kind::TOK_COMMA) && p.could_be("in"))
    return "unexpected `,`; each variable has its own range: `for i in 0..n, j in 0..m`";
  if (!(p.is(Kind::TOK_LEFT_BRACE) || p.is(Kind::TOK_SEMICOLON)) || !p.could_be("..")) return {};
  const Token& end = p.before();
  const bool alone = p.before(2).kind == Kind::TOK_IN;
  if (alone && end.kind == Kind::TOK_INTEGER) return "a loop runs over a range: `for i in 0.." + end.text + "`";
  if (alone && end.kind == Kind::TOK_NAME)
    return "a loop runs over a range: `for i in 0.." + end.text + "`, or 0..size(" + end.text +
           ", 0) over the positions of a tensor";
  return std::string(kLoop);
}

/// `a if c else b`, `x[i] if i > 2`, `if c then { … }`.
std::string choice_slip(const Place& p) {
  const bool statement = p.found().first_on_line && !p.follows(Kind::TOK_THEN);
  if (p.is(Kind::TOK_IF) && p.wants_expression() && !statement)
    return "an `if` expression inside another expression needs parentheses";
  if (p.is(Kind::TOK_IF) && p.after_expression())
    return "unexpected `if`; " + (p.follows(Kind::TOK_ELSE) ? std::string(kChoice) : "a guard is written `… where c`");
  if (p.is(Kind::TOK_THEN) && p.could_be("{"))
    return "unexpected `then`; a statement is written `if c { … } else { … }`, and " + std::string(kChoice);
  return {};
}

/// The TDSL call of a function that takes several values instead of one list.
std::string call_with_list(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kSizes = {"zeros", "ones", "eye",  "random",
                                                             "randn", "iota", "rand", "empty"};
  const std::string f(name);
  if (std::ranges::find(kSizes, name) != kSizes.end()) return "sizes are separate arguments: " + f + "(n, m)";
  if (name == "randint") return "sizes are separate arguments: randint(a, b, n, m)";
  if (name == "full") return "sizes are separate arguments: full(v, n, m)";
  if (name == "reshape") return "sizes are separate arguments: reshape(A, n, m)";
  if (name == "transpose") return "dimensions are separate arguments: transpose(A, 2, 0, 1)";
  if (name == "concat" || function_hint(name).find("concat(") != std::string::npos)
    return "tensors are separate arguments: concat(A, B, axis=0)";
  if (std::ranges::find(kReductions, name) != kReductions.end()) return "axes are named: " + f + "(A, axis=(0, 1))";
  return "the arguments are separate: " + f + "(a, b)";
}

/// Lists instead of separate values or subscripts, and slices in parentheses.
std::string list_slip(const Place& p) {
  const std::optional<std::size_t> open = p.opening();
  if (!open) return {};
  if (p.is(Kind::TOK_COMMA) && p.kind_at(*open) == Kind::TOK_LEFT_PAREN && p.could_be(")") && !p.could_be(",") &&
      *open > 0) {
    const int outside = p.kind_at(*open - 1);
    const std::string_view callee = p.callee(p.opening_before(*open));
    if ((outside == Kind::TOK_LEFT_PAREN || outside == Kind::TOK_COMMA) && !callee.empty())
      return "unexpected `,`; " + call_with_list(callee);
    if (outside == Kind::TOK_LEFT_BRACKET) return "unexpected `,`; subscripts stand in brackets alone: A[i, j]";
  }
  const std::string_view callee = p.callee(open);
  if (p.is(Kind::TOK_COLON) && !callee.empty() && p.could_be(",") && p.could_be(")"))
    return "unexpected `:`; subscripts stand in brackets: " + std::string(callee) + "[a:b]";
  if (p.is(Kind::TOK_FOR) && !callee.empty() && p.after_expression())
    return "unexpected `for`; a reduction's variables stand in brackets: " + std::string(callee) + "[i in a..b](…)";
  return {};
}

/// `lambda t: t + 1`, `t -> t + 1`, `t => t + 1`.
std::string lambda_slip(const Place& p) {
  const bool lambda = (p.is(Kind::TOK_NAME) || p.is(Kind::TOK_COLON)) && p.before().kind == Kind::TOK_NAME &&
                      p.before().text == "lambda";
  const bool arrow = p.is(Kind::TOK_ARROW) && p.after_expression();
  const bool fat_arrow =
      p.is(Kind::TOK_ASSIGN) && p.after().kind == Kind::TOK_GREATER && Place::joined(p.found(), p.after());
  return lambda || arrow || fat_arrow ? "every function has a name: `fn f(x) = x + 1;`" : "";
}

/// Unexpected words, and declarations of several names at once.
std::string word_slip(const Place& p) {
  if (p.is(Kind::TOK_WHERE) && p.could_be("]"))
    return "a guard follows an index variable or its range: max[k where k < i](…), sum[k in 0..n where k != i](…)";
  const bool of_function = p.kind_at(p.statement()) == Kind::TOK_FN && p.after_expression();
  if (of_function && (p.is(Kind::TOK_WHERE) || p.is(Kind::TOK_FOR)))
    return "unexpected " + quoted(p.found().text) +
           "; it belongs to a statement: `fn f(x: f64[n]) -> f64[n] { let y[i] = … " + p.found().text +
           " …; return y; }`";
  const bool negated = p.is(Kind::TOK_NAME) || p.is(Kind::TOK_TRUE) || p.is(Kind::TOK_FALSE);
  if (negated && p.before().kind == Kind::TOK_NAME && p.before().text == "not")
    return "unexpected " + quoted(p.found().text) + " after `not`; did you mean `!`?";
  if (p.is(Kind::TOK_NAME) && p.could_be("&&") && (p.found().text == "and" || p.found().text == "or"))
    return "unexpected " + quoted(p.found().text) + "; did you mean `" + (p.found().text == "and" ? "&&" : "||") + "`?";
  if (p.is(Kind::TOK_NAME) && p.found().text == "as" && p.kind_at(p.statement()) == Kind::TOK_IMPORT)
    return "unexpected `as`; imports keep their names, without a prefix";
  if (p.is(Kind::TOK_FN) && p.wants_expression() && p.after().kind == Kind::TOK_LEFT_PAREN)
    return "a lambda can stand only as an argument or a default; declare a function: `fn f(x) = x * x;`";
  if (is_reserved_word(p.found()) && p.wants_expression() && p.after().kind == Kind::TOK_LEFT_PAREN)
    return quoted(p.found().text) + " is a reserved word, not a function" +
           (p.is(Kind::TOK_VAR) ? "; the variance is variance(x)" : "");
  const bool declares = p.before(2).kind == Kind::TOK_LET || p.before(2).kind == Kind::TOK_VAR;
  if (p.is(Kind::TOK_COMMA) && declares && p.after().kind == Kind::TOK_NAME)
    return "unexpected `,`; several names stand in parentheses: `" + p.before(2).text + " (" + p.before().text + ", " +
           p.after().text + ") = …`";
  if (p.before().kind == Kind::TOK_TYPE && p.before(2).kind == Kind::TOK_ASSIGN && p.before(3).text == "dtype")
    return "there is no `dtype`; the type is declared, `let x: " + p.before().text +
           "[n] = …`, or cast to: " + p.before().text + "(…)";
  if (p.is(Kind::TOK_COMMA) && p.begins_statement(1) && p.before().kind == Kind::TOK_NAME &&
      p.after().kind == Kind::TOK_NAME)
    return "unexpected `,`; several names stand in parentheses: `(" + p.before().text + ", " + p.after().text +
           ") = …`";
  return {};
}

/// `sum[j] A[i, j]`.
std::string reduction_slip(const Place& p) {
  static constexpr std::array kOperands = {Kind::TOK_NAME, Kind::TOK_INTEGER, Kind::TOK_FLOAT};
  if (p.before().kind != Kind::TOK_RIGHT_BRACKET || std::ranges::find(kOperands, p.found().kind) == kOperands.end() ||
      p.found().first_on_line)
    return {};
  const std::string_view name = p.subscripted();
  const bool reduces = std::ranges::find(kReductions, name) != kReductions.end();
  return reduces ? "the expression that `" + std::string(name) +
                       "[…]` reduces stands in parentheses: " + std::string(name) + "[i](…)"
                 : "";
}

std::string brace_slip(const Place& p) {
  if (p.is(Kind::TOK_END) && p.could_be("}")) return "missing `}` before the end of the file";
  if (p.is(Kind::TOK_RIGHT_BRACE) && p.could_be("let") && !p.could_be("}")) return "unmatched `}`";
  return {};
}

}  // namespace

std::string known_slip(const SyntaxProblem& problem) {
  static constexpr std::array kSlips = {assignment_slip, string_slip,  loop_slip,      lambda_slip, operator_slip,
                                        dimension_slip,  storage_slip, type_slip,      member_slip, choice_slip,
                                        list_slip,       word_slip,    reduction_slip, brace_slip};
  const Place place(problem);
  for (const auto slip : kSlips) {
    std::string message = slip(place);
    if (!message.empty()) return message;
  }
  return {};
}

}  // namespace tdsl::frontend
