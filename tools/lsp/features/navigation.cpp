#include <algorithm>

#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

Json definition(const View& view, const Json& params) {
  const View::Place place = view.place(params.at("position"));
  for (const frontend::IndexImport& import : view.index().imports) {
    if (import.range.file == 0 && frontend::covers(import.range, place.line, place.column))
      return view.location({import.file, 1, 1, 1, 1});
  }
  const std::int32_t id = view.declaration_at(place);
  return id < 0 ? Json() : view.location(view.declaration(id).range);
}

Json highlight(const View& view, const Json& params) {
  constexpr int kRead = 2, kWrite = 3;
  const std::int32_t id = view.declaration_at(view.place(params.at("position")));
  Json all = Json::array();
  if (id < 0) return all;
  for (const frontend::IndexUse& use : view.index().uses_of(id)) {
    if (use.range.file == 0) all.push_back({{"range", view.range(use.range)}, {"kind", use.writes ? kWrite : kRead}});
  }
  return all;
}

Json references(const View& view, const EachView& each, const Json& params) {
  const std::int32_t id = view.declaration_at(view.place(params.at("position")));
  Json all = Json::array();
  if (id < 0) return all;
  const bool declares = params.value(Json::json_pointer("/context/includeDeclaration"), true);
  const frontend::IndexDeclaration& wanted = view.declaration(id);
  const Json home = view.location(wanted.range);
  std::set<std::string> seen;
  const auto add = [&](const View& other) {
    for (const frontend::IndexUse& use : other.index().uses) {
      const frontend::IndexDeclaration& d = other.declaration(use.declaration);
      if (d.name != wanted.name || (use.declares && !declares) || other.location(d.range) != home) continue;
      Json found = other.location(use.range);
      if (seen.insert(found.dump()).second) all.push_back(std::move(found));
    }
  };
  add(view);
  if (wanted.global) each(add);
  return all;
}

}  // namespace tdsl::lsp
