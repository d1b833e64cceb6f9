#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

bool within(std::uint32_t line, const Json& params) {
  if (!params.contains("range")) return true;
  return line >= params.at("range").at("start").at("line").get<std::uint32_t>() + 1 &&
         line <= params.at("range").at("end").at("line").get<std::uint32_t>() + 1;
}

/// The inferred type of a variable that was declared without.
bool wants_type(const frontend::IndexDeclaration& d) {
  const bool is_variable = d.kind == frontend::IndexKind::kLet || d.kind == frontend::IndexKind::kVar ||
                           d.kind == frontend::IndexKind::kOutput;
  return is_variable && !d.written_type && !d.types.empty() && d.range.file == 0;
}

}  // namespace

Json inlay_hints(const View& view, const Json& params) {
  constexpr int kTypeHint = 1;
  Json all = Json::array();
  for (const frontend::IndexDeclaration& d : view.index().declarations) {
    if (!wants_type(d) || !within(d.range.line, params)) continue;
    all.push_back({{"position", view.position(0, d.target.end_line, d.target.end_column)},
                   {"label", ": " + View::type_of(d)},
                   {"kind", kTypeHint}});
  }
  if (view.document().planned != view.document().version) return all;
  for (const Json& hint : view.document().plan_lines) {
    const auto line = hint.at("line").get<std::uint32_t>();
    if (line == 0 || line > view.sources().line_count(0) || !within(line, params)) continue;
    const std::uint32_t behind = frontend::utf8_length(view.sources().line(0, line)) + 1;
    all.push_back({{"position", view.position(0, line, behind)}, {"label", hint.at("text")}, {"paddingLeft", true}});
  }
  return all;
}

}  // namespace tdsl::lsp
