#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

bool is_word(const std::string& text) {
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 && std::ranges::all_of(text, is_part);
}

/// The declaration at the place. Throws RequestError if it cannot be renamed.
std::int32_t renamed(const View& view, const Json& params) {
  if (!view.index().complete) throw RequestError(kRequestFailed, "the program has syntax errors");
  const std::int32_t id = view.declaration_at(view.place(params.at("position")));
  if (id < 0) throw RequestError(kRequestFailed, "no name of the program stands here");
  const std::uint32_t file = view.declaration(id).range.file;
  if (!view.services().library_directory.empty() &&
      view.sources().name(file).starts_with(view.services().library_directory))
    throw RequestError(kRequestFailed, "names of the library cannot be renamed");
  return id;
}

/// The declaration of every use, numbered by first use. A new name may not change it.
std::vector<std::int32_t> meaning(const frontend::Index& index) {
  std::vector<std::int32_t> numbers;
  std::map<std::int32_t, std::int32_t> seen;
  for (const frontend::IndexUse& use : index.uses)
    numbers.push_back(seen.emplace(use.declaration, static_cast<std::int32_t>(seen.size())).first->second);
  return numbers;
}

/// Texts with `name` in place of the uses of one declaration, and their edits.
struct Renaming {
  std::map<std::string, std::string> texts;  ///< by path
  Json changes = Json::object();             ///< by address
};

void replace_uses(const View& view, std::int32_t id, const std::string& name, Renaming& renaming) {
  std::map<std::uint32_t, std::vector<frontend::SourceRange>> places;
  for (const frontend::IndexUse& use : view.index().uses_of(id)) places[use.range.file].push_back(use.range);
  for (const auto& [file, ranges] : places) {
    Json& edits = renaming.changes[view.uri(file)];
    if (!edits.is_null()) continue;  // another program has imported the same file
    edits = Json::array();
    std::vector<std::string> lines;
    for (std::uint32_t l = 1; l <= view.sources().line_count(file); ++l)
      lines.emplace_back(view.sources().line(file, l));
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
      std::string& line = lines.at(range->line - 1);
      const std::size_t begin = frontend::byte_in(line, range->column);
      line.replace(begin, frontend::byte_in(line, range->end_column) - begin, name);
      const Json edit = {{"range", view.range(*range)}, {"newText", name}};
      edits.insert(edits.begin(), edit);
    }
    std::string& text = renaming.texts[view.sources().name(file)];
    for (const std::string& line : lines) text += line + "\n";
  }
}

/// Throws RequestError if a use of the program would mean another declaration, or a name would be declared twice.
void require_same_meaning(const View& view, const std::string& name, const Renaming& renaming) {
  frontend::SourceManager sources;
  frontend::IndexOptions options{view.services().library_directory, {}};
  const auto text_of = [&](const std::string& path) -> std::optional<std::string> {
    if (const auto found = renaming.texts.find(path); found != renaming.texts.end()) return found->second;
    for (std::uint32_t k = 0; k < view.sources().file_count(); ++k) {
      if (view.sources().name(k) == path) return view.sources().text(k);
    }
    return std::nullopt;
  };
  options.read = text_of;
  const std::uint32_t file = sources.add(view.sources().name(0), text_of(view.sources().name(0)).value_or(""));
  const frontend::Index after = frontend::index_of(sources, file, options);
  if (!after.complete || meaning(after) != meaning(view.index()) || after.others.size() != view.index().others.size())
    throw RequestError(kRequestFailed, "`" + name + "` has another meaning in this program: some uses would change");
}

/// A name that the scope of the declaration has already, even if nothing mentions it.
void require_free(const View& view, std::int32_t id, const std::string& name) {
  const frontend::IndexDeclaration& wanted = view.declaration(id);
  if (frontend::is_taken_word(name, wanted.is_callable()))
    throw RequestError(kRequestFailed, "`" + name + "` is a word of the language");
  for (const frontend::IndexDeclaration& d : view.index().declarations) {
    if (d.name != name || d.is_callable() != wanted.is_callable()) continue;
    const bool same_function = d.function == wanted.function || d.is_callable();
    const bool overlap = d.range.file != wanted.range.file ||
                         frontend::covers(wanted.visible, d.range.line, d.range.column) ||
                         frontend::covers(d.visible, wanted.range.line, wanted.range.column);
    if (same_function && overlap)
      throw RequestError(kRequestFailed, "`" + name + "` is declared already, at " + view.sources().place(d.range));
  }
}

}  // namespace

Json prepare_rename(const View& view, const Json& params) {
  static_cast<void>(renamed(view, params));
  const View::Place place = view.place(params.at("position"));
  const frontend::IndexUse* use = view.index().use_at(0, place.line, place.column);
  return {{"range", view.range(use->range)}, {"placeholder", view.declaration(use->declaration).name}};
}

Json rename(const View& view, const EachView& each, const Json& params) {
  const std::int32_t id = renamed(view, params);
  const auto name = params.at("newName").get<std::string>();
  if (!is_word(name)) throw RequestError(kRequestFailed, "`" + name + "` is not a name: letters, digits and _");
  const frontend::IndexDeclaration& wanted = view.declaration(id);
  Renaming all;
  if (name == wanted.name) return {{"changes", all.changes}};
  const Json home = view.location(wanted.range);
  const auto rename_in = [&](const View& other) {
    const auto& declarations = other.index().declarations;
    const auto same = std::ranges::find_if(declarations, [&](const frontend::IndexDeclaration& d) {
      return d.name == wanted.name && other.location(d.range) == home;
    });
    if (same == declarations.end()) return;
    const auto here = static_cast<std::int32_t>(same - declarations.begin());
    require_free(other, here, name);
    Renaming own;
    replace_uses(other, here, name, own);
    require_same_meaning(other, name, own);
    for (const auto& [uri, edits] : own.changes.items()) {
      if (!all.changes.contains(uri)) all.changes[uri] = edits;
    }
  };
  rename_in(view);
  if (wanted.global) each(rename_in);
  return {{"changes", std::move(all.changes)}};
}

}  // namespace tdsl::lsp
