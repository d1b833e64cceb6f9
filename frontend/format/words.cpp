#include "frontend/format/words.h"

#include "frontend_parser.hpp"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;

bool is_name(int kind) {
  return kind == Kind::TOK_NAME || kind == Kind::TOK_BY || kind == Kind::TOK_OUT || kind == Kind::TOK_KERNEL ||
         kind == Kind::TOK_TILE || kind == Kind::TOK_EVERY;
}

/// Cost of a line break before a binary operator: lower for looser operators; negative for other tokens.
int operator_penalty(int kind) {
  switch (kind) {
    case Kind::TOK_OR: return 1;
    case Kind::TOK_AND: return 2;
    case Kind::TOK_EQUAL:
    case Kind::TOK_NOT_EQUAL:
    case Kind::TOK_LESS:
    case Kind::TOK_LESS_EQUAL:
    case Kind::TOK_GREATER:
    case Kind::TOK_GREATER_EQUAL:
    case Kind::TOK_BIT_OR:
    case Kind::TOK_BIT_XOR:
    case Kind::TOK_BIT_AND: return 3;
    case Kind::TOK_SHIFT_LEFT:
    case Kind::TOK_SHIFT_RIGHT:
    case Kind::TOK_PLUS:
    case Kind::TOK_MINUS: return 4;
    case Kind::TOK_STAR:
    case Kind::TOK_SLASH:
    case Kind::TOK_PERCENT:
    case Kind::TOK_AT: return 5;
    default: return -1;
  }
}

/// Iterates over the tokens with a stack of open brackets.
class Walk {
 public:
  explicit Walk(const std::vector<Token>& tokens) : tokens_(tokens), words_(tokens.size()) {}

  std::vector<FormatWord> run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) word(i);
    return std::move(words_);
  }

 private:
  [[nodiscard]] int kind(std::size_t i) const { return tokens_[i].kind; }
  [[nodiscard]] bool value_before(std::size_t i) const { return i > 0 && words_[i - 1].ends_value; }
  [[nodiscard]] int innermost() const { return open_.empty() ? Kind::TOK_LEFT_BRACE : open_.back(); }

  void word(std::size_t i) {
    FormatWord& w = words_[i];
    const int k = kind(i);
    switch (k) {
      case Kind::TOK_INTEGER:
      case Kind::TOK_FLOAT:
      case Kind::TOK_STRING:
      case Kind::TOK_TRUE:
      case Kind::TOK_FALSE:
      case Kind::TOK_INF:
      case Kind::TOK_NAN:
      case Kind::TOK_TYPE:
      case Kind::TOK_ELLIPSIS:
      case Kind::TOK_NAME:
      case Kind::TOK_OUT:
      case Kind::TOK_KERNEL: w.ends_value = true; break;
      case Kind::TOK_BY:
      case Kind::TOK_TILE:
      case Kind::TOK_EVERY:
        // After a value it is the keyword of a range, an annotation or an output, elsewhere a name.
        w.ends_value = !value_before(i);
        break;
      case Kind::TOK_LEFT_PAREN:
        w.tight_before = is_call(i);
        w.tight_after = true;
        open_.push_back(k);
        break;
      case Kind::TOK_LEFT_BRACKET:
        // An array literal begins where no value ends.
        w.tight_before = value_before(i) || (i > 0 && kind(i - 1) == Kind::TOK_TYPE);
        w.tight_after = true;
        open_.push_back(begins_type_parameters(i) ? static_cast<int>(Kind::TOK_FN) : k);
        break;
      case Kind::TOK_LEFT_BRACE: open_.push_back(k); break;
      case Kind::TOK_RIGHT_PAREN:
      case Kind::TOK_RIGHT_BRACKET:
        w.tight_before = w.ends_value = true;
        close();
        break;
      case Kind::TOK_RIGHT_BRACE: close(); break;
      case Kind::TOK_QUOTE: w.tight_before = w.ends_value = true; break;
      case Kind::TOK_SEMICOLON:
      case Kind::TOK_COMMA: w.tight_before = true; break;
      case Kind::TOK_DOT:
      case Kind::TOK_DOT_DOT: w.tight_before = w.tight_after = true; break;
      case Kind::TOK_COLON:
        w.tight_before = i > 0 && kind(i - 1) != Kind::TOK_COMMA;
        w.tight_after = innermost() == Kind::TOK_LEFT_BRACKET;
        break;
      case Kind::TOK_ASSIGN:
        w.tight_before = names_argument(i) || is_combining(i);
        w.tight_after = names_argument(i);
        break;
      case Kind::TOK_NOT:
      case Kind::TOK_BIT_NOT:
      case Kind::TOK_MINUS: w.unary = w.tight_after = k != Kind::TOK_MINUS || !value_before(i); break;
      default: break;
    }
    w.break_penalty = penalty(i);
  }

  void close() {
    if (!open_.empty()) open_.pop_back();
  }

  /// True for the `[` of `fn f[T: real](…)`, where `:` is followed by a space as in other declarations.
  [[nodiscard]] bool begins_type_parameters(std::size_t i) const { return i > 1 && kind(i - 2) == Kind::TOK_FN; }

  /// True if a `(` belongs to the preceding word: `f(x)`, `f64(x)`, `sum[k](…)`, `where(c, a, b)`, `sparse(A)`.
  [[nodiscard]] bool is_call(std::size_t i) const {
    if (i == 0) return false;
    const int before = kind(i - 1);
    if (before == Kind::TOK_WHERE) return !value_before(i - 1);
    if (before == Kind::TOK_SPARSE) return innermost() != Kind::TOK_LEFT_BRACKET;
    return (is_name(before) && words_[i - 1].ends_value) || before == Kind::TOK_TYPE || before == Kind::TOK_FN ||
           before == Kind::TOK_RIGHT_BRACKET;
  }

  /// True if the `=` follows the name of an argument: `axis=0`, not `h: f64 = 1.0` or `fn(x) = x * x`.
  [[nodiscard]] bool names_argument(std::size_t i) const {
    return i > 1 && innermost() == Kind::TOK_LEFT_PAREN && is_name(kind(i - 1)) &&
           (kind(i - 2) == Kind::TOK_LEFT_PAREN || kind(i - 2) == Kind::TOK_COMMA);
  }

  /// True if the `=` ends a combining assignment such as `x min= y`.
  [[nodiscard]] bool is_combining(std::size_t i) const {
    return i > 1 && is_name(kind(i - 1)) && words_[i - 2].ends_value &&
           tokens_[i - 1].range.end_line == tokens_[i].range.line &&
           tokens_[i - 1].range.end_column == tokens_[i].range.column;
  }

  /// Breaks inside inner brackets cost more.
  [[nodiscard]] int penalty(std::size_t i) const {
    if (i == 0) return -1;
    int depth = 0;
    for (std::size_t k = open_.size(); k-- > 0 && open_[k] != Kind::TOK_LEFT_BRACE;) ++depth;
    // An opening bracket is outside its own pair.
    const bool opens = kind(i) == Kind::TOK_LEFT_PAREN || kind(i) == Kind::TOK_LEFT_BRACKET;
    const int outer = 10 * (opens ? depth - 1 : depth);
    if (kind(i - 1) == Kind::TOK_COMMA) return outer;
    if (words_[i].tight_before || words_[i].unary)
      return kind(i - 1) == Kind::TOK_ASSIGN && !words_[i - 1].tight_after ? outer + 6 : -1;
    if (kind(i) == Kind::TOK_WHERE || kind(i) == Kind::TOK_FOR || kind(i) == Kind::TOK_THEN ||
        kind(i) == Kind::TOK_ELSE)
      return value_before(i) ? outer : -1;
    if (kind(i - 1) == Kind::TOK_ASSIGN && !words_[i - 1].tight_after) return outer + 6;
    const int binary = operator_penalty(kind(i));
    return binary < 0 ? -1 : outer + binary;
  }

  const std::vector<Token>& tokens_;
  std::vector<FormatWord> words_;
  std::vector<int> open_;
};

}  // namespace

std::vector<FormatWord> format_words(const std::vector<Token>& tokens) { return Walk(tokens).run(); }

}  // namespace tdsl::frontend
