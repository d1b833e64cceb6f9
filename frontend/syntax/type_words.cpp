#include "frontend/syntax/type_words.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "frontend_parser.hpp"
#include "runtime/types.h"

namespace tdsl::frontend {

namespace {

using Kind = GeneratedParser::token;

/// The type parameters of the function whose `fn` is at `first`; empty if it has none.
std::set<std::string> type_parameters(const std::vector<Token>& tokens, std::size_t first) {
  std::set<std::string> names;
  if (first + 2 >= tokens.size() || tokens[first + 1].kind != Kind::TOK_NAME ||
      tokens[first + 2].kind != Kind::TOK_LEFT_BRACKET)
    return names;
  bool is_bound = false;
  for (std::size_t i = first + 3; i < tokens.size(); ++i) {
    const int kind = tokens[i].kind;
    if (kind == Kind::TOK_RIGHT_BRACKET) return names;
    if (kind != Kind::TOK_NAME && kind != Kind::TOK_COMMA && kind != Kind::TOK_COLON) return {};
    if (kind == Kind::TOK_NAME && !is_bound) names.insert(tokens[i].text);
    is_bound = kind == Kind::TOK_COLON;
  }
  return {};
}

/// One past the last token of the function that starts at `first`: its block, or its expression up to `;`.
std::size_t end_of_function(const std::vector<Token>& tokens, std::size_t first) {
  std::size_t open = 0;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    const int kind = tokens[i].kind;
    if (kind == Kind::TOK_LEFT_BRACE || kind == Kind::TOK_LEFT_PAREN) ++open;
    if (kind == Kind::TOK_RIGHT_BRACE || kind == Kind::TOK_RIGHT_PAREN) open -= open > 0 ? 1 : 0;
    const bool ends = kind == Kind::TOK_RIGHT_BRACE || kind == Kind::TOK_SEMICOLON;
    if (ends && open == 0) return i + 1;
  }
  return tokens.size();
}

/// The brackets around a token, from the outermost on. The types of a function type or of several results stand in
/// brackets of their own.
class Brackets {
 public:
  enum class Kind : std::uint8_t { kBlock, kValues, kTypes, kSubscripts };

  void open(Kind kind) { open_.push_back(kind); }
  void close() {
    if (!open_.empty()) open_.pop_back();
  }
  [[nodiscard]] Kind innermost() const { return open_.empty() ? Kind::kBlock : open_.back(); }

 private:
  std::vector<Kind> open_;
};

/// True if a type stands at `i`: behind a `:` that is not a slice's, behind `->`, and among the types of a function
/// type. Words may stand between: `x: in u8[n]`, `A: sparse u8[n, m]`, `k: literal u8`.
bool type_stands_at(const std::vector<Token>& tokens, std::size_t i, Brackets::Kind inside) {
  const auto between = [](const Token& t) {
    return t.kind == Kind::TOK_SPARSE || t.kind == Kind::TOK_IN || t.kind == Kind::TOK_OUT || t.text == "literal";
  };
  std::size_t before = i;
  while (before > 0 && between(tokens[before - 1])) --before;
  if (before == 0) return false;
  const int kind = tokens[before - 1].kind;
  const bool listed = kind == Kind::TOK_LEFT_PAREN || kind == Kind::TOK_COMMA;
  return kind == Kind::TOK_ARROW || (kind == Kind::TOK_COLON && inside != Brackets::Kind::kSubscripts) ||
         (listed && inside == Brackets::Kind::kTypes);
}

void mark_contextual_types(std::vector<Token>& tokens) {
  Brackets brackets;
  const auto kind_before = [&](std::size_t i, std::size_t steps) {
    return i >= steps ? tokens[i - steps].kind : static_cast<int>(Kind::TOK_END);
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Token& token = tokens[i];
    const int kind = token.kind;
    if (kind == Kind::TOK_LEFT_PAREN) {
      const bool of_function = kind_before(i, 1) == Kind::TOK_FN && kind_before(i, 2) == Kind::TOK_COLON;
      brackets.open(of_function || kind_before(i, 1) == Kind::TOK_ARROW ? Brackets::Kind::kTypes
                                                                        : Brackets::Kind::kValues);
    } else if (kind == Kind::TOK_LEFT_BRACKET) {
      brackets.open(Brackets::Kind::kSubscripts);
    } else if (kind == Kind::TOK_LEFT_BRACE) {
      brackets.open(Brackets::Kind::kBlock);
    } else if (kind == Kind::TOK_RIGHT_PAREN || kind == Kind::TOK_RIGHT_BRACKET || kind == Kind::TOK_RIGHT_BRACE) {
      brackets.close();
    } else if (kind == Kind::TOK_NAME && rt::element_type_named(token.text) &&
               type_stands_at(tokens, i, brackets.innermost())) {
      token.kind = Kind::TOK_TYPE;
    }
  }
}

}  // namespace

void mark_type_words(std::vector<Token>& tokens) {
  mark_contextual_types(tokens);
  std::vector<Token> marked;
  marked.reserve(tokens.size());
  std::set<std::string> types;
  std::size_t end = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Token& token = tokens[i];
    if (i >= end) types.clear();
    if (token.kind == Kind::TOK_FN && i >= end) {
      types = type_parameters(tokens, i);
      end = types.empty() ? i : end_of_function(tokens, i);
    }
    const auto kind_after = [&](std::size_t steps) {
      return i + steps < tokens.size() ? tokens[i + steps].kind : static_cast<int>(Kind::TOK_END);
    };
    if (token.kind == Kind::TOK_NAME && types.contains(token.text)) token.kind = Kind::TOK_TYPE;
    if (token.kind == Kind::TOK_NAME && token.text == "literal" && kind_after(1) == Kind::TOK_TYPE)
      token.kind = Kind::TOK_LITERAL;
    const bool real_of = token.kind == Kind::TOK_NAME && token.text == "real" &&
                         kind_after(1) == Kind::TOK_LEFT_PAREN && kind_after(3) == Kind::TOK_RIGHT_PAREN &&
                         types.contains(tokens[i + 2].text);
    if (real_of) {
      token.kind = Kind::TOK_TYPE;
      token.text = "real(" + tokens[i + 2].text + ")";
      token.range = token.range.to(tokens[i + 3].range);
    }
    marked.push_back(std::move(token));
    if (real_of) i += 3;
  }
  tokens = std::move(marked);
}

}  // namespace tdsl::frontend
