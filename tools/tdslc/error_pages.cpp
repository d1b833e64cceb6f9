#include "tools/tdslc/error_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

std::vector<std::string_view> lines_of(std::string_view page) {
  std::vector<std::string_view> lines;
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    lines.push_back(page.substr(0, end));
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
  }
  return lines;
}

/// `[text](target)` becomes `text`, except in code.
std::string without_links(std::string_view line) {
  std::string text;
  bool code = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    if (line[k] == '`') code = !code;
    const std::size_t middle = code || line[k] != '[' ? std::string_view::npos : line.find("](", k);
    const std::size_t close = middle == std::string_view::npos ? middle : line.find(')', middle);
    const std::string_view words = close == std::string_view::npos ? "" : line.substr(k + 1, middle - k - 1);
    if (words.empty() || words.find('[') != std::string_view::npos || std::ranges::count(words, '`') % 2 != 0) {
      text += line[k];
      continue;
    }
    text += words;
    k = close;
  }
  return text;
}

/// The lines of a section, without its head.
std::string terminal_text(const std::vector<std::string_view>& lines) {
  std::string text;
  bool example = false;
  for (const std::string_view line : lines) {
    if (line.starts_with("```")) {
      example = !example;
      continue;
    }
    text += line.empty() ? "\n" : (example ? "    " + std::string(line) : without_links(line)) + "\n";
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

/// The ids in backticks at the begin of a row's first cell.
std::vector<std::string_view> ids_of_row(std::string_view row) {
  std::vector<std::string_view> ids;
  if (!row.starts_with("| `")) return ids;
  std::string_view cell = row.substr(2, row.find(" |") - 2);
  while (cell.starts_with('`')) {
    const std::size_t end = cell.find('`', 1);
    if (end == std::string_view::npos) break;
    ids.push_back(cell.substr(1, end - 1));
    cell.remove_prefix(end + 1);
    if (!cell.starts_with(", ")) break;
    cell.remove_prefix(2);
  }
  return ids;
}

bool is_id(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

/// The id of `### `ID``; otherwise empty.
std::string_view id_of_head(std::string_view line) {
  if (!line.starts_with("### `") || !line.ends_with('`')) return {};
  return line.substr(5, line.size() - 6);
}

/// All ids of the pages.
std::vector<std::string> known_ids() {
  std::vector<std::string> ids;
  for (const std::string_view line : lines_of(kErrorsPage)) {
    if (const std::string_view id = id_of_head(line); !id.empty()) ids.emplace_back(id);
  }
  for (const std::string_view line : lines_of(kImportPage)) {
    for (const std::string_view id : ids_of_row(line)) {
      if (id.starts_with("import-")) ids.emplace_back(id);
    }
  }
  return ids;
}

}  // namespace

std::string section_of(std::string_view page, std::string_view id) {
  std::vector<std::string_view> section;
  bool inside = false, example = false;
  for (const std::string_view line : lines_of(page)) {
    if (line.starts_with("```")) example = !example;
    if (inside && !example && line.starts_with("##")) break;
    if (inside) section.push_back(line);
    inside = inside || (!example && id_of_head(line) == id);
  }
  while (!section.empty() && section.front().empty()) section.erase(section.begin());
  if (inside) return terminal_text(section);
  for (const std::string_view line : lines_of(page)) {
    const std::vector<std::string_view> ids = ids_of_row(line);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) continue;
    const std::size_t cell = line.find(" | ") + 3;
    return without_links(line.substr(cell, line.rfind(" |") - cell)) + "\n";
  }
  return {};
}

int print_error_page(std::string_view id) {
  if (id.starts_with('[') && id.ends_with(']')) id = id.substr(1, id.size() - 2);
  std::string text;
  if (is_id(id)) text = section_of(kErrorsPage, id);
  if (text.empty() && is_id(id) && id.starts_with("import-")) text = section_of(kImportPage, id);
  if (text.empty()) {
    print_error(
        fmt::format("tdslc: no message has the id `{}`{}\n", id, frontend::did_you_mean(std::string(id), known_ids())));
    return 2;
  }
  fmt::print("[{}]\n\n{}", id, text);
  return 0;
}

}  // namespace tdsl::tools
