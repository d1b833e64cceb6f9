#include "codegen/clang/format.h"

#include <clang/Format/Format.h>
#include <clang/Tooling/Core/Replacement.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tdsl::codegen {

namespace {

constexpr std::size_t kColumns = 120;

/// clang-format's time and memory grow faster than the length of a statement, and double with every further bracket:
/// such lines are wrapped here instead.
bool is_too_long(std::string_view line) {
  if (line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with("//")) return false;
  if (line.size() > 2000) return true;
  int depth = 0;
  int deepest = 0;
  for (const char c : line) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  return line.size() > 2 * kColumns && deepest > 12;
}

/// The line broken at blanks outside strings into lines of about kColumns, continuation lines indented by 4 more.
std::string wrapped(std::string_view line) {
  const std::string margin(std::min(line.find_first_not_of(' '), kColumns / 2) + 4, ' ');
  std::string result;
  std::size_t columns = 0;
  bool in_string = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (c == '"' && (k == 0 || line[k - 1] != '\\' || !in_string)) in_string = !in_string;
    if (c == ' ' && !in_string && columns > kColumns - margin.size()) {
      result += "\n" + margin;
      columns = margin.size();
      continue;
    }
    result += c;
    ++columns;
  }
  return result;
}

clang::format::FormatStyle project_style() {
  clang::format::FormatStyle style = clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.ColumnLimit = kColumns;
  style.AllowShortIfStatementsOnASingleLine = clang::format::FormatStyle::SIS_WithoutElse;
  style.AllowShortLoopsOnASingleLine = true;
  // Shorter than BAS_AlwaysBreak, and faster than BAS_Align, which takes three times as long for lists of lists.
  style.AlignAfterOpenBracket = clang::format::FormatStyle::BAS_DontAlign;
  style.ReflowComments = false;
  style.SortIncludes = clang::format::FormatStyle::SI_Never;
  style.Standard = clang::format::FormatStyle::LS_Cpp20;
  return style;
}

}  // namespace

std::string clang_formatted(const std::string& source) {
  std::string text;
  std::vector<clang::tooling::Range> short_lines;
  std::size_t begin = 0;  // of the short lines since the last long one
  const auto end_range = [&] {
    // clang-format also formats lines that a range only touches: the range ends before the line end preceding a long
    // line, and begins after the one following it.
    if (text.size() > begin + 2)
      short_lines.emplace_back(static_cast<unsigned>(begin + 1), static_cast<unsigned>(text.size() - begin - 2));
  };
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size() - 1) + 1;
    const std::string_view line = std::string_view(source).substr(at, end - at);
    at = end;
    if (!is_too_long(line)) {
      text += line;
      continue;
    }
    end_range();
    text += wrapped(line);
    begin = text.size();
  }
  end_range();
  const clang::tooling::Replacements edits = clang::format::reformat(project_style(), text, short_lines, "program.cpp");
  llvm::Expected<std::string> result = clang::tooling::applyAllReplacements(text, edits);
  if (!result) {
    llvm::consumeError(result.takeError());
    return text;
  }
  return *result;
}

}  // namespace tdsl::codegen
