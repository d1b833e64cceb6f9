#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"

using namespace tdsl::frontend;
using tdsl::ir::SourceRange;

TEST_CASE("rendering shows the line and a caret range") {
  SourceManager sources;
  sources.add("first.tdsl", "");
  const std::uint32_t file = sources.add("a.tdsl", "let a = 1;\n\tlet é = bcd;\r\nlast");
  Diagnostic diagnostic{DiagnosticId::kSyntaxError, Severity::kError, {file, 2, 10, 2, 13}, "what", {}};
  CHECK(render(diagnostic, sources) ==
        "a.tdsl:2:10: error: what [syntax]\n"
        "  \tlet é = bcd;\n"
        "  \t        ^~~\n");
  diagnostic.notes = {{{file, 1, 5, 1, 6}, "declared here"}, {{}, "no place"}};
  diagnostic.severity = Severity::kWarning;
  CHECK(render(diagnostic, sources) ==
        "a.tdsl:2:10: warning: what [syntax]\n"
        "  \tlet é = bcd;\n"
        "  \t        ^~~\n"
        "a.tdsl:1:5: note: declared here\n"
        "  let a = 1;\n"
        "      ^\n"
        "note: no place\n");
}

TEST_CASE("rendering ranges at the edges") {
  SourceManager sources;
  const std::uint32_t file = sources.add("a.tdsl", "abc\ndef");
  const auto carets = [&](const SourceRange& range) {
    const std::string text = render({DiagnosticId::kSyntaxError, Severity::kUnsupported, range, "m", {}}, sources);
    const std::size_t line = text.rfind('\n', text.size() - 2);
    return text.substr(line + 1, text.size() - line - 2);
  };
  CHECK(carets({file, 1, 2, 2, 2}) == "   ^~");   // continues on the next line
  CHECK(carets({file, 1, 4, 1, 5}) == "     ^");  // after the last character
  CHECK(carets({file, 2, 1, 2, 99}) == "  ^~~");  // too long
  CHECK(carets({file, 2, 2, 2, 2}) == "   ^");    // empty
  CHECK(render({DiagnosticId::kSyntaxError, Severity::kUnsupported, {}, "m", {}}, sources) ==
        "unsupported: m [syntax]\n");
}

TEST_CASE("colour only when asked for") {
  SourceManager sources;
  const std::uint32_t file = sources.add("a.tdsl", "abc");
  const Diagnostic diagnostic{DiagnosticId::kSyntaxError, Severity::kError, {file, 1, 1, 1, 2}, "m", {}};
  CHECK(render(diagnostic, sources).find('\033') == std::string::npos);
  CHECK(render(diagnostic, sources, {true}).find("\033[1;31merror:\033[0m") != std::string::npos);
}

TEST_CASE("the sink counts, sorts and drops duplicates") {
  DiagnosticSink sink;
  sink.error(DiagnosticId::kSyntaxError, {0, 3, 1, 3, 2}, "c");
  sink.warning(DiagnosticId::kUnusedName, {0, 1, 5, 1, 6}, "b");
  sink.error(DiagnosticId::kSyntaxError, {}, "nowhere");
  sink.unsupported(DiagnosticId::kNotSupported, {0, 1, 2, 1, 3}, "a");
  sink.error(DiagnosticId::kSyntaxError, {0, 3, 1, 3, 2}, "c");
  CHECK(sink.error_count() == 3);
  std::string order;
  for (const Diagnostic& diagnostic : sink.sorted()) { order += diagnostic.message + " "; }
  CHECK(order == "a b c nowhere ");
}

TEST_CASE("the sink keeps the first hundred errors, and as many warnings") {
  SourceManager sources;
  const std::uint32_t file = sources.add("a.tdsl", "abc");
  DiagnosticSink sink;
  for (std::uint32_t k = 0; k < 250; ++k) {
    sink.warning(DiagnosticId::kUnusedName, {file, 1, k + 1, 1, k + 2}, "w");
    CHECK(sink.is_full() == (k >= 100));
    sink.error(DiagnosticId::kSyntaxError, {file, 1, k + 1, 1, k + 2}, "e");
  }
  CHECK(sink.diagnostics().size() == 200);
  CHECK(sink.error_count() == 100);
  const std::string last = "note: only the first 100 warnings are shown\nnote: stopped after 100 errors\n";
  CHECK(render_all(sink, sources).ends_with(last));
  DiagnosticSink later;
  later.add_all(sink, 198);
  CHECK(later.diagnostics().size() == 2);
  CHECK_FALSE(later.is_full());
  CHECK(render_all(later, sources).ends_with("note: only the first 100 warnings are shown\n"));
}

TEST_CASE("of a long line only a part is shown") {
  SourceManager sources;
  std::string line;
  for (int k = 0; k < 300; ++k) line += "é" + std::to_string(k % 10);
  const std::uint32_t file = sources.add("a.tdsl", line);
  const auto shown = [&](std::uint32_t column, std::uint32_t end) {
    std::string text =
        render({DiagnosticId::kSyntaxError, Severity::kError, {file, 1, column, 1, end}, "m", {}}, sources);
    text.erase(0, text.find('\n') + 1);
    const std::size_t middle = text.find('\n');
    const std::string_view second = std::string_view(text).substr(middle + 1);
    return std::pair(text.substr(0, middle), std::string(second.substr(0, second.find('\n'))));
  };
  const auto [text, carets] = shown(301, 304);
  CHECK(text.starts_with("  …é0é1"));
  CHECK(text.ends_with("0é…"));
  CHECK(utf8_length(text) == 2 + 1 + 80 + 3 + 80 + 1);
  CHECK(carets == std::string(2 + 1 + 80, ' ') + "^~~");
  CHECK(shown(1, 2).second == "  ^");
  CHECK(shown(600, 601).first.ends_with("é9"));
  CHECK(utf8_length(shown(2, 599).second) <= 2 + 400);
}

TEST_CASE("json") {
  SourceManager sources;
  const std::uint32_t file = sources.add("a \"b\".tdsl", "abc");
  DiagnosticSink sink;
  CHECK(render_json(sink, sources) == "[]\n");
  sink.error(DiagnosticId::kMissingSemicolon, {file, 1, 2, 1, 3}, "é", {{{}, "n"}});
  CHECK(render_json(sink, sources) == R"([
  {
    "id": "missing-semicolon",
    "severity": "error",
    "file": "a \"b\".tdsl",
    "line": 1,
    "column": 2,
    "end_line": 1,
    "end_column": 3,
    "message": "é",
    "notes": [
      {
        "file": null,
        "line": 0,
        "column": 0,
        "end_line": 0,
        "end_column": 0,
        "message": "n"
      }
    ]
  }
]
)");
}

TEST_CASE("suggestions of the nearest name") {
  const std::vector<std::string> names = {"input", "output", "import", "X"};
  CHECK(did_you_mean("imput", names) == "; did you mean `input`?");
  CHECK(did_you_mean("zebra", names).empty());
}

TEST_CASE("characters are counted, not bytes") {
  CHECK(utf8_length("aé∑😀") == 4);
  CHECK(utf8_length("a\xE9z") == 3);
  CHECK(utf8_length("\xE2\x88") == 2);
}

TEST_CASE("lines of a source") {
  SourceManager sources;
  const std::uint32_t file = sources.add("a.tdsl", "one\r\ntwo\n");
  CHECK(sources.line(file, 1) == "one");
  CHECK(sources.line(file, 2) == "two");
  CHECK(sources.line(file, 3).empty());
  CHECK(sources.line_count(file) == 2);
}

TEST_CASE("ids are unique and explained") {
  std::set<std::string_view> seen;
  for (const DiagnosticId id : all_diagnostic_ids()) {
    CHECK(seen.insert(id_text(id)).second);
    CHECK(explanation(id).size() > 10);
  }
}
