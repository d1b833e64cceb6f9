#include <optional>

#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

struct Fix {
  std::string title;
  Json range;
  std::string text;
};

/// `missing ";" before …` inserts it; `did you mean "x"?` replaces the word.
std::optional<Fix> fix_of(const View& view, const frontend::Diagnostic& d) {
  constexpr std::string_view kMeant = "did you mean `";
  if (d.range.file != 0) return std::nullopt;
  if (d.id == frontend::DiagnosticId::kMissingSemicolon) {
    frontend::SourceRange behind = d.range;
    behind.end_line = behind.line;
    behind.end_column = behind.column;
    return Fix{"Insert `;`", view.range(behind), ";"};
  }
  const std::size_t at = d.message.find(kMeant);
  if (at == std::string::npos || d.range.line != d.range.end_line) return std::nullopt;
  const std::size_t begin = at + kMeant.size();
  const std::size_t end = d.message.find('`', begin);
  if (end == std::string::npos) return std::nullopt;
  const std::string word = d.message.substr(begin, end - begin);
  // The range is the wrong word itself, not a larger part of the program.
  const std::string wrong = frontend::text_in(view.sources(), d.range);
  if (wrong.find_first_of(" ([;") != std::string::npos) return std::nullopt;
  return Fix{"Replace by `" + word + "`", view.range(d.range), word};
}

bool overlap(const Json& a, const Json& b) {
  const auto key = [](const Json& p) { return std::pair(p.at("line").get<int>(), p.at("character").get<int>()); };
  return key(a.at("start")) <= key(b.at("end")) && key(b.at("start")) <= key(a.at("end"));
}

}  // namespace

Json code_actions(const View& view, const Json& params) {
  Json all = Json::array();
  for (const frontend::Diagnostic& d : view.sink().sorted()) {
    const auto fix = fix_of(view, d);
    if (!fix || !overlap(view.range(d.range), params.at("range"))) continue;
    const Json edit = {{"range", fix->range}, {"newText", fix->text}};
    all.push_back({{"title", fix->title},
                   {"kind", "quickfix"},
                   {"edit", {{"changes", {{view.document().uri, Json::array({edit})}}}}}});
  }
  return all;
}

}  // namespace tdsl::lsp
