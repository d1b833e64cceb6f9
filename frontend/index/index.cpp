#include "frontend/index/index.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

#include "frontend/index/index_builder.h"
#include "frontend/lower/builtins.h"

namespace tdsl::frontend {

namespace {

template <class Named>
const Named* named_at(const std::vector<Named>& all, std::uint32_t file, std::uint32_t line, std::uint32_t column) {
  const Named* before = nullptr;  // ends at the column: `x|+y` means x
  for (const Named& n : all) {
    if (n.range.file != file || !covers(n.range, line, column)) continue;
    if (n.range.end_line == line && n.range.end_column == column) {
      before = &n;
    } else {
      return &n;
    }
  }
  return before;
}

}  // namespace

std::string_view kind_text(IndexKind kind) {
  constexpr auto kTexts = std::to_array<std::string_view>(
      {"param", "input", "output", "let", "var", "loop variable", "index variable", "dimension", "parameter",
       "type parameter", "function", "monoid", "storage", "function of a C++ header"});
  return kTexts.at(static_cast<std::size_t>(kind));
}

bool IndexDeclaration::is_callable() const {
  return kind == IndexKind::kFunction || kind == IndexKind::kMonoid || kind == IndexKind::kForeign;
}

const IndexUse* Index::use_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) const {
  return named_at(uses, file, line, column);
}

const IndexOther* Index::other_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) const {
  return named_at(others, file, line, column);
}

std::vector<IndexUse> Index::uses_of(std::int32_t declaration) const {
  std::vector<IndexUse> found;
  std::ranges::copy_if(uses, std::back_inserter(found),
                       [&](const IndexUse& u) { return u.declaration == declaration; });
  return found;
}

std::int32_t Index::function_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) const {
  for (std::size_t k = 0; k < declarations.size(); ++k) {
    const IndexDeclaration& d = declarations[k];
    const bool has_scope = d.is_callable() || d.kind == IndexKind::kStorage;
    if (has_scope && d.whole.file == file && covers(d.whole, line, column)) return static_cast<std::int32_t>(k);
  }
  return -1;
}

std::vector<std::int32_t> Index::visible_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) const {
  const std::int32_t function = function_at(file, line, column);
  std::vector<std::int32_t> found;
  for (std::size_t k = 0; k < declarations.size(); ++k) {
    const IndexDeclaration& d = declarations[k];
    const bool everywhere = d.is_callable() || d.kind == IndexKind::kStorage;
    const bool in_sight = d.range.file == file ? covers(d.visible, line, column) : d.global;
    const bool reaches = d.function == function || (d.global && d.kind == IndexKind::kParam);
    if (everywhere || (in_sight && reaches)) found.push_back(static_cast<std::int32_t>(k));
  }
  return found;
}

void Index::add_types(const std::vector<DeclaredName>& names) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, IndexDeclaration*> at;
  for (IndexDeclaration& d : declarations) at[{d.range.file, d.range.line, d.range.column}] = &d;
  for (const DeclaredName& name : names) {
    const auto found = at.find({name.range.file, name.range.line, name.range.column});
    if (found == at.end() || found->second->name != name.name) continue;
    IndexDeclaration& d = *found->second;
    if (std::ranges::find(d.types, name.type) == d.types.end()) d.types.push_back(name.type);
    d.value = d.types.size() == 1 ? name.value : "";
  }
}

Index index_of(SourceManager& sources, std::uint32_t file, const IndexOptions& options) {
  return IndexBuilder(sources, options).build(file);
}

bool covers(const SourceRange& range, std::uint32_t line, std::uint32_t column) {
  if (std::pair(line, column) < std::pair(range.line, range.column)) return false;
  return range.end_line == 0 || std::pair(line, column) <= std::pair(range.end_line, range.end_column);
}

std::size_t byte_in(std::string_view line, std::uint32_t column) {
  std::size_t at = 0;
  while (at < line.size() && column > 1) {
    // A character has at most four bytes; an invalid byte counts as one.
    std::size_t length = 1;
    while (length < 4 && at + length < line.size() && (static_cast<unsigned char>(line[at + length]) & 0xC0U) == 0x80U)
      ++length;
    if (utf8_length(line.substr(at, length)) != 1) length = 1;
    at += length;
    --column;
  }
  return at;
}

std::string text_in(const SourceManager& sources, const SourceRange& range) {
  std::string text;
  for (std::uint32_t l = range.line; range.known() && l <= range.end_line; ++l) {
    const std::string_view line = sources.line(range.file, l);
    const std::size_t begin = l == range.line ? byte_in(line, range.column) : 0;
    const std::size_t end = l == range.end_line ? byte_in(line, range.end_column) : line.size();
    if (l != range.line) text += '\n';
    text += line.substr(begin, end > begin ? end - begin : 0);
  }
  return text;
}

std::vector<std::string> built_in_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : builtins()) names.push_back(name);
  return names;
}

bool is_built_in(const std::string& name) { return builtins().contains(name); }

bool is_taken_word(const std::string& name, bool callable) {
  const auto found = builtins().find(name);
  const bool hard = callable && found != builtins().end() && !found->second.soft;
  return hard || is_reserved_word({kind_of_word(name), {}, name});
}

}  // namespace tdsl::frontend
