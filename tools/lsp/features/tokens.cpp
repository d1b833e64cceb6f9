#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

using frontend::IndexKind;

enum TokenType : std::uint32_t { kVariable, kParameter, kFunction, kTypeParameter, kProperty, kType };
enum TokenModifier : std::uint32_t { kDeclares = 1U, kReadOnly = 2U, kModifies = 4U, kOfLanguage = 8U };

struct NameToken {
  frontend::SourceRange range;
  std::uint32_t type = kVariable;
  std::uint32_t modifiers = 0;
};

std::uint32_t token_type(IndexKind kind) {
  switch (kind) {
    case IndexKind::kParam:
    case IndexKind::kInput:
    case IndexKind::kOutput: return kProperty;
    case IndexKind::kLet:
    case IndexKind::kVar:
    case IndexKind::kLoop: return kVariable;
    case IndexKind::kIndexVariable:
    case IndexKind::kParameter: return kParameter;
    case IndexKind::kDimension:
    case IndexKind::kTypeParameter: return kTypeParameter;
    case IndexKind::kStorage: return kType;
    case IndexKind::kFunction:
    case IndexKind::kMonoid:
    case IndexKind::kForeign: return kFunction;
  }
  return kVariable;
}

std::vector<NameToken> name_tokens(const View& view) {
  std::vector<NameToken> tokens;
  for (const frontend::IndexUse& use : view.index().uses) {
    const frontend::IndexDeclaration& d = view.declaration(use.declaration);
    std::uint32_t modifiers = use.declares ? kDeclares : use.writes ? kModifies : 0U;
    if (d.kind != IndexKind::kVar && !d.is_callable()) modifiers |= kReadOnly;
    tokens.push_back({use.range, token_type(d.kind), modifiers});
  }
  for (const frontend::IndexOther& other : view.index().others) {
    if (other.built_in) tokens.push_back({other.range, other.called ? kFunction : kVariable, kOfLanguage});
  }
  std::erase_if(tokens, [](const NameToken& t) { return t.range.file != 0 || t.range.line != t.range.end_line; });
  const auto place = [](const NameToken& t) { return std::pair(t.range.line, t.range.column); };
  std::ranges::stable_sort(tokens, {}, place);
  const auto overlaps = [](const NameToken& a, const NameToken& b) {
    return a.range.line == b.range.line && b.range.column < a.range.end_column;
  };
  tokens.erase(std::unique(tokens.begin(), tokens.end(), overlaps), tokens.end());
  return tokens;
}

}  // namespace

Json semantic_legend() {
  return {{"tokenTypes", {"variable", "parameter", "function", "typeParameter", "property", "type"}},
          {"tokenModifiers", {"declaration", "readonly", "modification", "defaultLibrary"}}};
}

Json semantic_tokens(const View& view) {
  Json data = Json::array();
  std::uint32_t line = 1, units = 0;
  for (const NameToken& token : name_tokens(view)) {
    const std::string_view text = view.sources().line(0, token.range.line);
    const std::uint32_t begin = units_before(text, token.range.column);
    if (token.range.line != line) units = 0;
    for (const std::uint32_t number : {token.range.line - line, begin - units,
                                       units_before(text, token.range.end_column) - begin, token.type, token.modifiers})
      data.push_back(number);
    line = token.range.line;
    units = begin;
  }
  return {{"data", std::move(data)}};
}

}  // namespace tdsl::lsp
