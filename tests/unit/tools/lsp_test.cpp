#include <doctest/doctest.h>

#include <string>

#include "frontend/index/index.h"
#include "tools/lsp/document.h"
#include "tools/lsp/features/view.h"
#include "tools/lsp/rpc.h"

using namespace tdsl;

TEST_CASE("lsp: messages are split by their lengths, however they arrive") {
  const std::string stream = lsp::framed({{"a", 1}}) + lsp::framed({{"b", "ü"}});
  lsp::MessageReader reader;
  std::string found;
  for (const char byte : stream) {
    reader.add({&byte, 1});
    while (const auto message = reader.take()) found += *message;
  }
  CHECK(found == R"({"a":1}{"b":"ü"})");
}

TEST_CASE("lsp: a header without length ends the stream") {
  lsp::MessageReader reader;
  reader.add("Content-Type: x\r\n\r\n{}");
  CHECK_THROWS_AS(static_cast<void>(reader.take()), lsp::BrokenStream);
  lsp::MessageReader wrong;
  wrong.add("content-length: 2x\r\n\r\n{}");
  CHECK_THROWS_AS(static_cast<void>(wrong.take()), lsp::BrokenStream);
  lsp::MessageReader other_case;
  other_case.add("CONTENT-LENGTH: 2\r\nContent-Type: x\r\n\r\n{}");
  CHECK(other_case.take() == "{}");
}

TEST_CASE("lsp: columns are characters, positions UTF-16 code units") {
  const std::string line = "aä𝛼b";  // 1, 1, 2, 1 units
  CHECK(lsp::units_before(line, 1) == 0);
  CHECK(lsp::units_before(line, 3) == 2);
  CHECK(lsp::units_before(line, 4) == 4);
  CHECK(lsp::units_before(line, 99) == 5);
  CHECK(lsp::column_at(line, 0) == 1);
  CHECK(lsp::column_at(line, 2) == 3);
  CHECK(lsp::column_at(line, 3) == 3);  // inside of the pair
  CHECK(lsp::column_at(line, 4) == 4);
  CHECK(lsp::column_at(line, 99) == 5);
}

TEST_CASE("lsp: edits replace ranges") {
  const auto edited = [](std::string text, int line, int from, int to_line, int to, const char* added) {
    lsp::apply_change(
        text,
        {{"range", {{"start", {{"line", line}, {"character", from}}}, {"end", {{"line", to_line}, {"character", to}}}}},
         {"text", added}});
    return text;
  };
  CHECK(edited("a𝛼b\ncd\n", 0, 3, 0, 4, "x") == "a𝛼x\ncd\n");
  CHECK(edited("ab\r\ncd\r\n", 0, 9, 1, 1, "-") == "ab-d\r\n");  // behind the line: its end
  CHECK(edited("ab", 7, 0, 9, 9, "c") == "abc");                 // behind the text
  CHECK_THROWS_AS(static_cast<void>(edited("ab", 0, 2, 0, 1, "")), lsp::RequestError);
  std::string text = "old";
  lsp::apply_change(text, {{"text", "new"}});
  CHECK(text == "new");
}

TEST_CASE("lsp: addresses of files") {
  CHECK(lsp::path_of("file:///a%20b/%C3%A4.tdsl") == "/a b/ä.tdsl");
  CHECK(lsp::path_of("file://host/a.tdsl") == "/a.tdsl");
  CHECK(lsp::path_of("untitled:Untitled-1") == "Untitled-1");
  CHECK(lsp::uri_of("/a b/ä.tdsl") == "file:///a%20b/%C3%A4.tdsl");
}

TEST_CASE("lsp: every built-in function is explained") {
  for (const std::string& name : frontend::built_in_names()) {
    INFO(name);
    CHECK(lsp::builtin_text(name) != nullptr);
  }
}
