#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

using frontend::IndexKind;

/// The first line of a hover text, in TDSL.
std::string headline(const frontend::IndexDeclaration& d) {
  const std::string type = View::type_of(d);
  switch (d.kind) {
    case IndexKind::kFunction:
    case IndexKind::kMonoid:
    case IndexKind::kForeign: return d.text;
    case IndexKind::kParam:
    case IndexKind::kInput:
    case IndexKind::kStorage: return d.text;
    case IndexKind::kOutput:
    case IndexKind::kLet:
    case IndexKind::kVar: {
      const std::string word(frontend::kind_text(d.kind));
      return word + " " + d.name + (type.empty() ? "" : ": " + type);
    }
    case IndexKind::kLoop:
    case IndexKind::kIndexVariable: return d.name;
    case IndexKind::kDimension: return d.name;
    case IndexKind::kParameter:
    case IndexKind::kTypeParameter: return d.text;
  }
  return d.name;
}

std::string hover_text(const View& view, const frontend::Index& index, const frontend::IndexDeclaration& d) {
  std::string text = "```tdsl\n" + headline(d) + "\n```\n" + std::string(frontend::kind_text(d.kind));
  if (!d.value.empty()) text += ", value " + d.value;
  const bool is_parameter = d.kind == IndexKind::kParameter || d.kind == IndexKind::kTypeParameter;
  if (is_parameter && d.function >= 0)
    text += " of `" + index.declarations.at(static_cast<std::size_t>(d.function)).name + "`";
  if (is_parameter && !d.types.empty()) text += ", called with " + View::type_of(d);
  // A written type may name less than is known, such as where `sparse` stands.
  const bool says_more = (d.kind == IndexKind::kInput || d.kind == IndexKind::kParam) && !d.types.empty() &&
                         d.text.find(d.types.front()) == std::string::npos;
  if (says_more) text += ", type " + View::type_of(d);
  const bool has_text = d.kind == IndexKind::kLet || d.kind == IndexKind::kVar || d.kind == IndexKind::kOutput ||
                        d.kind == IndexKind::kLoop || d.kind == IndexKind::kIndexVariable;
  if (has_text && d.text != d.name) text += "\n\n`" + d.text + "`";
  if (!d.doc.empty()) text += "\n\n" + d.doc;
  if (d.range.file != 0) text += "\n\nin `" + view.sources().name(d.range.file) + "`";
  return text;
}

Json markdown(const std::string& text, Json range) {
  return {{"contents", {{"kind", "markdown"}, {"value", text}}}, {"range", std::move(range)}};
}

}  // namespace

Json hover(const View& view, const Json& params) {
  const View::Place place = view.place(params.at("position"));
  const frontend::IndexUse* use = view.index().use_at(0, place.line, place.column);
  if (const std::int32_t id = view.declaration_at(place); id >= 0) {
    const frontend::SourceRange range = use != nullptr ? use->range : view.word_range(place);
    return markdown(hover_text(view, view.index(), view.declaration(id)), view.range(range));
  }
  const frontend::IndexOther* other = view.index().other_at(0, place.line, place.column);
  if (view.index().complete && other == nullptr) return nullptr;
  const frontend::SourceRange range = other != nullptr ? other->range : view.word_range(place);
  const std::string word = frontend::text_in(view.sources(), range);
  if (const BuiltinText* known = builtin_text(word); known != nullptr && (other == nullptr || other->built_in)) {
    return markdown("```tdsl\n" + std::string(known->signature) + "\n```\n" + std::string(known->text),
                    view.range(range));
  }
  // A name whose declaration does not parse at present.
  const std::shared_ptr<const Analysis>& before = view.document().before;
  if (view.index().complete || !before) return nullptr;
  for (const frontend::IndexDeclaration& d : before->index.declarations) {
    if (d.name == word && d.range.file == 0) return markdown(hover_text(view, before->index, d), view.range(range));
  }
  return nullptr;
}

}  // namespace tdsl::lsp
