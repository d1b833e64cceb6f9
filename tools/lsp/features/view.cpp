#include "tools/lsp/features/view.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tdsl::lsp {

View::Place View::place(const Json& position) const {
  const auto line = position.at("line").get<std::uint32_t>() + 1;
  return {line, column_at(sources().line(0, line), position.at("character").get<std::uint32_t>())};
}

std::string View::before(const Place& place) const {
  const std::string_view line = sources().line(0, place.line);
  return std::string(line.substr(0, frontend::byte_in(line, place.column)));
}

Json View::position(std::uint32_t file, std::uint32_t line, std::uint32_t column) const {
  if (line == 0) return {{"line", 0}, {"character", 0}};
  return {{"line", line - 1}, {"character", units_before(sources().line(file, line), column)}};
}

Json View::range(const frontend::SourceRange& range) const {
  return {{"start", position(range.file, range.line, range.column)},
          {"end", position(range.file, range.end_line, range.end_column)}};
}

Json View::location(const frontend::SourceRange& range) const {
  return {{"uri", uri(range.file)}, {"range", this->range(range)}};
}

std::string View::uri(std::uint32_t file) const {
  return file == 0 ? document_.uri : services_.uri(sources().name(file));
}

frontend::SourceRange View::whole() const {
  const auto last = static_cast<std::uint32_t>(std::ranges::count(document_.text, '\n')) + 1;
  return {0, 1, 1, last, frontend::utf8_length(sources().line(0, last)) + 1};
}

std::int32_t View::declaration_at(const Place& place) const {
  const frontend::IndexUse* use = index().use_at(0, place.line, place.column);
  if (use != nullptr) return use->declaration;
  if (index().complete || index().other_at(0, place.line, place.column) != nullptr) return -1;
  const std::string word = word_at(place);
  std::int32_t found = -1;
  for (const std::int32_t id : index().visible_at(0, place.line, place.column)) {
    if (declaration(id).name == word) found = id;
  }
  return found;
}

frontend::SourceRange View::word_range(const Place& place) const {
  const std::string_view line = sources().line(0, place.line);
  const auto is_part = [&](std::uint32_t column) {
    const std::size_t at = frontend::byte_in(line, column);
    return at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) != 0 || line[at] == '_');
  };
  frontend::SourceRange range{0, place.line, place.column, place.line, place.column};
  while (range.column > 1 && is_part(range.column - 1)) --range.column;
  while (is_part(range.end_column)) ++range.end_column;
  return range;
}

std::string View::word_at(const Place& place) const { return frontend::text_in(sources(), word_range(place)); }

std::string View::type_of(const frontend::IndexDeclaration& d) {
  std::string text;
  for (const std::string& type : d.types) text += (text.empty() ? "" : " | ") + type;
  return text;
}

namespace {

constexpr auto kBuiltinTexts = std::to_array<BuiltinText>({
#define TDSL_BUILTIN(name, signature, text) {name, signature, text},
#include "tools/lsp/features/builtins.def"
#undef TDSL_BUILTIN
});

}  // namespace

const BuiltinText* builtin_text(std::string_view name) {
  const auto* found = std::ranges::find(kBuiltinTexts, name, &BuiltinText::name);
  return found == kBuiltinTexts.end() ? nullptr : found;
}

}  // namespace tdsl::lsp
