#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <vector>

#include "frontend/syntax/token.h"
#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

using frontend::IndexKind;

/// SymbolKind of the protocol.
int symbol_kind(IndexKind kind) {
  constexpr int kClass = 5, kProperty = 7, kFunction = 12, kVariable = 13, kConstant = 14, kOperator = 25;
  switch (kind) {
    case IndexKind::kFunction:
    case IndexKind::kForeign: return kFunction;
    case IndexKind::kMonoid: return kOperator;
    case IndexKind::kStorage: return kClass;
    case IndexKind::kParam: return kConstant;
    case IndexKind::kInput:
    case IndexKind::kOutput: return kProperty;
    default: return kVariable;
  }
}

bool is_shown(IndexKind kind) {
  return kind != IndexKind::kLoop && kind != IndexKind::kIndexVariable && kind != IndexKind::kDimension &&
         kind != IndexKind::kParameter && kind != IndexKind::kTypeParameter;
}

Json symbol(const View& view, const frontend::IndexDeclaration& d) {
  const std::string type = View::type_of(d);
  return {{"name", d.name},
          {"detail", d.is_callable() || type.empty() ? std::string(frontend::kind_text(d.kind)) : type},
          {"kind", symbol_kind(d.kind)},
          {"range", view.range(d.whole)},
          {"selectionRange", view.range(d.range)}};
}

/// True for a token of one character that is this symbol; the value of a string may look like one.
bool is_symbol(const frontend::Token& token, std::string_view text) {
  return token.text == text && token.range.line == token.range.end_line &&
         token.range.end_column - token.range.column == text.size();
}

Json fold(std::uint32_t from, std::uint32_t to, const char* kind) {
  Json json = {{"startLine", from - 1}, {"endLine", to - 1}};
  if (kind != nullptr) json["kind"] = kind;
  return json;
}

/// Comments that follow each other line by line, alone in their lines.
void fold_comments(const frontend::TokenizedFile& file, Json& all) {
  std::set<std::uint32_t> used;  // lines with tokens; the last token is the end of the file
  for (const frontend::Token& token : std::span(file.tokens).first(file.tokens.size() - 1))
    for (std::uint32_t line = token.range.line; line <= token.range.end_line; ++line) used.insert(line);
  std::vector<frontend::ast::Comment> comments;
  std::ranges::copy_if(file.comments, std::back_inserter(comments), [&](const frontend::ast::Comment& comment) {
    return !used.contains(comment.range.line) && !used.contains(comment.range.end_line);
  });
  for (std::size_t k = 0; k < comments.size();) {
    std::size_t last = k;
    while (last + 1 < comments.size() && comments[last + 1].range.line == comments[last].range.end_line + 1) ++last;
    if (comments[last].range.end_line > comments[k].range.line)
      all.push_back(fold(comments[k].range.line, comments[last].range.end_line, "comment"));
    k = last + 1;
  }
}

}  // namespace

Json document_symbols(const View& view) {
  const auto& declarations = view.index().declarations;
  const auto children_of = [&](std::int32_t function) {
    std::vector<const frontend::IndexDeclaration*> found;
    for (const frontend::IndexDeclaration& d : declarations) {
      const bool is_top = d.function < 0 || d.is_callable();
      const bool belongs = function < 0 ? is_top : !is_top && d.function == function;
      if (belongs && d.range.file == 0 && is_shown(d.kind)) found.push_back(&d);
    }
    std::ranges::stable_sort(found, {}, [](const auto* d) { return std::pair(d->range.line, d->range.column); });
    return found;
  };
  Json all = Json::array();
  for (const frontend::IndexDeclaration* d : children_of(-1)) {
    Json top = symbol(view, *d);
    const auto id = static_cast<std::int32_t>(d - declarations.data());
    for (const frontend::IndexDeclaration* child :
         d->is_callable() ? children_of(id) : std::vector<const frontend::IndexDeclaration*>{})
      top["children"].push_back(symbol(view, *child));
    all.push_back(std::move(top));
  }
  return all;
}

Json folding_ranges(const View& view) {
  frontend::DiagnosticSink ignored;
  const frontend::TokenizedFile file = frontend::tokenize(view.sources(), 0, ignored);
  Json all = Json::array();
  std::vector<std::uint32_t> open;
  for (const frontend::Token& token : file.tokens) {
    if (is_symbol(token, "{") || is_symbol(token, "[") || is_symbol(token, "(")) open.push_back(token.range.line);
    const bool closes = is_symbol(token, "}") || is_symbol(token, "]") || is_symbol(token, ")");
    if (!closes || open.empty()) continue;
    // The last line, with the bracket, stays visible.
    if (token.range.line > open.back() + 1) all.push_back(fold(open.back(), token.range.line - 1, nullptr));
    open.pop_back();
  }
  fold_comments(file, all);
  const auto& imports = view.index().imports;
  std::vector<std::uint32_t> lines;
  for (const frontend::IndexImport& import : imports) {
    if (import.range.file == 0) lines.push_back(import.range.line);
  }
  std::ranges::sort(lines);
  if (lines.size() > 1 && lines.back() > lines.front()) all.push_back(fold(lines.front(), lines.back(), "imports"));
  return all;
}

}  // namespace tdsl::lsp
