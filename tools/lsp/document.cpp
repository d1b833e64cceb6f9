#include "tools/lsp/document.h"

#include <algorithm>
#include <cctype>

namespace tdsl::lsp {

namespace {

/// Bytes of the character at `at`; 1 for an invalid byte.
std::size_t length_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t expected = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::size_t length = 1;
  while (length < expected && at + length < text.size() &&
         (static_cast<unsigned char>(text[at + length]) & 0xC0U) == 0x80U)
    ++length;
  return length == expected ? length : 1;
}

/// UTF-16 code units of a character of that many bytes.
std::uint32_t units_of(std::size_t length) { return length == 4 ? 2 : 1; }

/// The byte offset of a position in the whole text; positions behind a line or the text are moved to its end.
std::size_t offset_of(std::string_view text, const Position& position) {
  std::size_t begin = 0;
  for (std::uint32_t line = 0; line < position.line; ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return text.size();
    begin = end + 1;
  }
  std::uint32_t units = 0;
  while (begin < text.size() && text[begin] != '\n' && text.substr(begin, 2) != "\r\n" && units < position.character) {
    const std::size_t length = length_at(text, begin);
    units += units_of(length);
    begin += length;
  }
  return begin;
}

Position position_in(const Json& json) {
  return {json.at("line").get<std::uint32_t>(), json.at("character").get<std::uint32_t>()};
}

int hex_digit(char c) {
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= '0' && lower <= '9' ? lower - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::uint32_t units_before(std::string_view line, std::uint32_t column) {
  std::uint32_t units = 0;
  for (std::size_t at = 0; at < line.size() && column > 1; --column) {
    const std::size_t length = length_at(line, at);
    units += units_of(length);
    at += length;
  }
  return units;
}

std::uint32_t column_at(std::string_view line, std::uint32_t units) {
  std::uint32_t column = 1;
  for (std::size_t at = 0; at < line.size(); ++column) {
    const std::size_t length = length_at(line, at);
    if (units < units_of(length)) break;
    units -= units_of(length);
    at += length;
  }
  return column;
}

std::string path_of(const std::string& uri) {
  constexpr std::string_view kFile = "file://";
  const std::size_t colon = uri.find(':');
  const std::string rest =
      uri.starts_with(kFile)
          ? uri.substr(uri.find('/', kFile.size()) == std::string::npos ? kFile.size() : uri.find('/', kFile.size()))
      : colon == std::string::npos ? uri
                                   : uri.substr(colon + 1);
  std::string path;
  for (std::size_t k = 0; k < rest.size(); ++k) {
    const bool escaped =
        rest[k] == '%' && k + 2 < rest.size() && hex_digit(rest[k + 1]) >= 0 && hex_digit(rest[k + 2]) >= 0;
    path += escaped ? static_cast<char>(hex_digit(rest[k + 1]) * 16 + hex_digit(rest[k + 2])) : rest[k];
    if (escaped) k += 2;
  }
  return path;
}

std::string uri_of(const std::string& path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain && byte < 0x80) {
      uri += c;
    } else {
      uri += '%';
      uri += kDigits[byte >> 4U];
      uri += kDigits[byte & 0xFU];
    }
  }
  return uri;
}

void apply_change(std::string& text, const Json& change) {
  const auto& added = change.at("text").get_ref<const std::string&>();
  if (!change.contains("range")) {
    text = added;
    return;
  }
  const std::size_t begin = offset_of(text, position_in(change.at("range").at("start")));
  const std::size_t end = offset_of(text, position_in(change.at("range").at("end")));
  if (end < begin) throw RequestError(kInvalidParams, "a range ends before it begins");
  text.replace(begin, end - begin, added);
}

namespace {

/// Types of declarations without one, from the last analysis that had them.
void take_types(frontend::Index& index, const frontend::Index& before) {
  const auto function_of = [](const frontend::Index& of, const frontend::IndexDeclaration& d) {
    return d.function < 0 ? std::string() : of.declarations[static_cast<std::size_t>(d.function)].name;
  };
  for (frontend::IndexDeclaration& d : index.declarations) {
    if (!d.types.empty()) continue;
    const auto known = std::ranges::find_if(before.declarations, [&](const frontend::IndexDeclaration& other) {
      return other.name == d.name && other.kind == d.kind && other.text == d.text &&
             function_of(before, other) == function_of(index, d);
    });
    if (known == before.declarations.end()) continue;
    d.types = known->types;
    d.value = known->value;
  }
}

}  // namespace

std::shared_ptr<const Analysis> analyse(const Document& document, const Services& services, const OpenText& text) {
  auto result = std::make_shared<Analysis>();
  Checked& checked = result->checked;
  checked.parsed = document.parsed;
  services.check(document.path, text, checked);
  if (checked.sources.file_count() == 0) checked.sources.add(document.path, document.text);
  frontend::IndexOptions options{services.library_directory, {}};
  options.read = text;
  options.parsed = document.parsed.get();
  result->index = frontend::index_of(checked.sources, 0, options);
  result->index.add_types(checked.names);
  if (document.before && checked.sink.has_errors()) take_types(result->index, document.before->index);
  return result;
}

}  // namespace tdsl::lsp
