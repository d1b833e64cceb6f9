#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/index/index.h"
#include "frontend/syntax/parsed_files.h"
#include "tests/fuzz/compiler_fuzz.h"

namespace {

namespace files = std::filesystem;
using namespace tdsl;
using frontend::Index;
using frontend::IndexDeclaration;

struct Indexed {
  frontend::SourceManager sources;
  Index index;

  explicit Indexed(const std::string& text) {
    const std::uint32_t file = sources.add("p.tdsl", text);
    index = frontend::index_of(sources, file, {TDSL_SOURCE_DIR "/stdlib", {}});
  }
  /// "name kind line" of the declaration that the place mentions, or "-".
  [[nodiscard]] std::string at(std::uint32_t line, std::uint32_t column) const {
    const frontend::IndexUse* use = index.use_at(0, line, column);
    if (use == nullptr) return "-";
    const IndexDeclaration& d = index.declarations[static_cast<std::size_t>(use->declaration)];
    return d.name + " " + std::string(frontend::kind_text(d.kind)) + " " + std::to_string(d.range.line);
  }
  [[nodiscard]] const IndexDeclaration& named(const std::string& name) const {
    const auto found = std::ranges::find(index.declarations, name, &IndexDeclaration::name);
    REQUIRE(found != index.declarations.end());
    return *found;
  }
  [[nodiscard]] std::vector<std::string> undeclared() const {
    std::vector<std::string> names;
    for (const auto& other : index.others) {
      if (!other.built_in) names.push_back(other.name);
    }
    return names;
  }
};

/// A use that lowering resolves to another declaration than the index; empty: none.
std::string disagreement(const files::path& path) {
  frontend::SourceManager sources;
  const std::uint32_t file = sources.add(path.string(), tests::text_of(path).value_or(""));
  frontend::DiagnosticSink sink;
  std::vector<std::pair<frontend::SourceRange, frontend::SourceRange>> resolved;
  frontend::CompileOptions options;
  options.library_directory = TDSL_SOURCE_DIR "/stdlib";
  options.resolved = [&](const auto& use, const auto& declaration) { resolved.emplace_back(use, declaration); };
  if (!frontend::compile(sources, file, sink, options)) return {};
  const Index index = frontend::index_of(sources, file, {options.library_directory, {}});
  for (const auto& [use, declaration] : resolved) {
    // Functions of the prelude stand at the place of their call.
    const std::string name = frontend::text_in(sources, declaration);
    const bool is_word = name.find_first_of(" ()[]{};:=") == std::string::npos;
    // An argument that is bound for a call of a function value is declared where it stands.
    if (!declaration.known() || use == declaration || !is_word || frontend::text_in(sources, use) != name) continue;
    const frontend::IndexUse* found = index.use_at(use.file, use.line, use.column);
    const bool same =
        found != nullptr && index.declarations[static_cast<std::size_t>(found->declaration)].range == declaration;
    if (!same)
      return sources.place(use) + ": `" + name + "` of " + sources.place(declaration) + ", in the index " +
             (found == nullptr ? "none"
                               : sources.place(index.declarations[static_cast<std::size_t>(found->declaration)].range));
  }
  return {};
}

}  // namespace

TEST_CASE("index: names mean what lowering resolves, in every program of the repository") {
  std::size_t programs = 0;
  for (const char* folder : {"samples", "tests/e2e", "tests/conformance"}) {
    for (const auto& entry : files::recursive_directory_iterator(files::path(TDSL_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".tdsl") continue;
      CHECK(disagreement(entry.path()) == "");
      ++programs;
    }
  }
  CHECK(programs > 200);
}

TEST_CASE("index: scopes of index variables, loops and functions") {
  const Indexed program(
      "input A: f64[n, m];\n"                        // 1
      "fn f(x: f64[n], k: i64 = 2) = x * f64(k);\n"  // 2
      "let B[i, j] = A[i, j] + sum[k](A[i, k]);\n"   // 3
      "for k in 0..n {\n"                            // 4
      "  let y = f(A[k, :], k=k);\n"                 // 5
      "}\n"
      "output B;\n");  // 7
  CHECK(program.at(1, 7) == "A input 1");
  CHECK(program.at(1, 14) == "n dimension 1");
  CHECK(program.at(2, 14) == "n dimension 2");  // of the function
  CHECK(program.at(2, 32) == "x parameter 2");
  CHECK(program.at(2, 40) == "k parameter 2");
  CHECK(program.at(3, 7) == "i index variable 3");
  CHECK(program.at(3, 18) == "i index variable 3");
  CHECK(program.at(3, 30) == "k index variable 3");
  CHECK(program.at(4, 13) == "n dimension 1");
  CHECK(program.at(5, 11) == "f function 2");
  CHECK(program.at(5, 15) == "k loop variable 4");
  CHECK(program.at(5, 22) == "k parameter 2");      // the name of the argument
  CHECK(program.at(5, 24) == "k loop variable 4");  // its value
  CHECK(program.at(7, 8) == "B let 3");
  CHECK(program.undeclared().empty());
}

TEST_CASE("index: a function sees params, not variables") {
  const Indexed program("param a: f64 = 1.0;\nlet b = 2.0;\nfn f(x) = a * x + b;\nlet c = f(b);\noutput c;\n");
  CHECK(program.at(3, 11) == "a param 1");
  CHECK(program.at(3, 19) == "-");
  CHECK(program.undeclared() == std::vector<std::string>{"b"});
}

TEST_CASE("index: lambdas see the names around them, and functions are named as arguments") {
  const Indexed program(
      "fn apply(f: fn(f64) -> f64, x: f64) -> f64 = f(x);\n"
      "fn g(x: f64) -> f64 = x;\n"
      "let k = 2.0;\n"
      "let y = apply(fn(z) = k * z, 1.0) + apply(g, 2.0);\n"
      "output y;\n");
  CHECK(program.at(1, 46) == "f parameter 1");
  CHECK(program.at(4, 23) == "k let 3");
  CHECK(program.at(4, 27) == "z parameter 4");
  CHECK(program.at(4, 43) == "g function 2");
}

TEST_CASE("index: imports bring functions and constants") {
  frontend::SourceManager sources;
  const std::uint32_t file = sources.add("d/p.tdsl", "import \"h.tdsl\";\nlet y = twice(half);\noutput y;\n");
  frontend::IndexOptions options;
  options.read = [](const std::string& path) -> std::optional<std::string> {
    if (path == "d/h.tdsl") return "let half = 0.5;\n// Two times.\nfn twice(x) = 2.0 * x;\n";
    return std::nullopt;
  };
  const Index index = frontend::index_of(sources, file, options);
  REQUIRE(index.imports.size() == 1);
  const frontend::IndexUse* use = index.use_at(file, 2, 9);
  REQUIRE(use != nullptr);
  const IndexDeclaration& twice = index.declarations[static_cast<std::size_t>(use->declaration)];
  CHECK(sources.place(twice.range) == "d/h.tdsl:3:4");
  CHECK(twice.doc == "Two times.");
  CHECK(twice.text == "fn twice(x)");
  REQUIRE(index.use_at(file, 2, 16) != nullptr);
}

TEST_CASE("index: statements that parse are indexed around one that does not") {
  const Indexed program("input x: f64[n];\nlet y = x * ;\nlet z = x + 1.0; // shifted\noutput z;\n");
  CHECK_FALSE(program.index.complete);
  CHECK(program.at(3, 9) == "x input 1");
  CHECK(program.at(4, 8) == "z let 3");
  CHECK(program.named("z").doc == "shifted");
}

TEST_CASE("index: columns count characters") {
  const Indexed program("input x: f64[n]; /* äöü𝛼 */ let y = x; output y;\n");
  CHECK(program.at(1, 37) == "x input 1");
  CHECK(frontend::text_in(program.sources, program.named("y").whole) == "let y = x;");
}

TEST_CASE("index: visible names") {
  const Indexed program(
      "let a = 1.0;\nfn f(p) {\n  let q = p;\n  return q;\n}\nfor i in 0..3 {\n  let b = a;\n}\nlet c = 2.0;\n");
  const auto names = [&](std::uint32_t line, std::uint32_t column) {
    std::string text;
    for (const std::int32_t id : program.index.visible_at(0, line, column))
      text += program.index.declarations[static_cast<std::size_t>(id)].name;
    return text;
  };
  CHECK(names(4, 10) == "fpq");
  CHECK(names(7, 11) == "fai");
  CHECK(names(9, 13) == "fac");
}

TEST_CASE("index: constants have values, variables types") {
  frontend::SourceManager sources;
  const std::uint32_t file =
      sources.add("p.tdsl", "input x: f64[n];\nlet k = 2 * 3;\nlet y = x * f64(k);\noutput y;\n");
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  std::vector<frontend::DeclaredName> declared;
  options.declared = [&](const frontend::DeclaredName& d) { declared.push_back(d); };
  REQUIRE(frontend::compile(sources, file, sink, options));
  Index index = frontend::index_of(sources, file);
  index.add_types(declared);
  const auto named = [&](const std::string& name) {
    return *std::ranges::find(index.declarations, name, &IndexDeclaration::name);
  };
  CHECK(named("y").types == std::vector<std::string>{"f64[n]"});
  CHECK(named("x").types == std::vector<std::string>{"f64[n]"});
  CHECK(named("k").types == std::vector<std::string>{"i64"});
  CHECK(named("k").value == "6");
}

TEST_CASE("index: a file that ends in an open block keeps what stands above it") {
  const Indexed program("input x: f64[n];\nlet y = x + 1.0;\nfn f(z) {\n  let q = z\n");
  CHECK_FALSE(program.index.complete);
  CHECK(program.at(2, 9) == "x input 1");
}

TEST_CASE("a file is parsed again when its text has changed") {
  const auto with_text = [](const char* text) {
    frontend::SourceManager sources;
    sources.add("p.tdsl", text);
    return sources;
  };
  frontend::ParsedFiles parsed;
  const auto first = parsed.of(with_text("let x = 1;\n"), 0);
  CHECK(first->complete);
  CHECK(parsed.of(with_text("let x = 1;\n"), 0) == first);
  for (int k = 0; k < 2; ++k) {  // messages are those of the text, however often it is read
    frontend::DiagnosticSink sink;
    CHECK(!parsed.module_of(with_text("let x = ;\n"), 0, sink));
    CHECK(sink.error_count() == 1);
  }
  CHECK(parsed.of(with_text("let x = 1;\n"), 0) != first);
}
