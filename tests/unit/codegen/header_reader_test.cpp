#include "codegen/plugin/clang.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/build/toolchain.h"

namespace tdsl {

namespace {

using ir::Scalar;

ir::ForeignDeclaration scalar_function(const std::string& name, std::size_t parameters = 1) {
  ir::ForeignDeclaration d;
  d.name = name;
  d.parameters.assign(parameters, {"x", Scalar::kF64, 0, false, false});
  d.dimensions.resize(parameters);
  return d;
}

/// `kernel NAME(A: in f64[b, b], L: out f64[b, b])`
ir::ForeignDeclaration matrix_kernel(const std::string& name) {
  ir::ForeignDeclaration d;
  d.name = name;
  d.is_kernel = true;
  d.parameters = {{"A", Scalar::kF64, 2, false, false}, {"L", Scalar::kF64, 2, true, true}};
  d.dimensions = {{"b", "b"}, {"b", "b"}};
  return d;
}

/// The facts read from a header with this text.
ir::HeaderFacts facts_of(const std::string& text, const ir::ForeignDeclaration& declaration) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("tdsl-header-{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "h.hpp") << text;
  ir::HeaderFacts facts = codegen::read_header((folder / "h.hpp").string(), {declaration},
                                               {"-I" + codegen::find_prefix() + "/include/tdsl"});
  std::filesystem::remove_all(folder);
  return facts;
}

/// "line:column message" of the only problem, or "good".
std::string verdict(const std::string& text, const ir::ForeignDeclaration& declaration) {
  const ir::HeaderFacts facts = facts_of(text, declaration);
  if (facts.problems.empty()) return facts.functions.size() == 1 ? "good" : "no function";
  const ir::HeaderProblem& p = facts.problems.front();
  return fmt::format("{}{}:{} {}", facts.problems.size() == 1 ? "" : "one of several: ", p.line, p.column, p.message);
}

std::string of_f(const std::string& body) { return verdict(body, scalar_function("f")); }

std::string of_kernel(const std::string& body) {
  return verdict(
      "#include <tdsl/tile.h>\nusing Out = tdsl::Tile<double, 2>; using In = tdsl::Tile<const double, 2>;\n" + body,
      matrix_kernel("k"));
}

ir::ForeignFunction::Operand out_of(const std::string& body) {
  const ir::HeaderFacts facts = facts_of(
      "#include <tdsl/tile.h>\nusing Out = tdsl::Tile<double, 2>; using In = tdsl::Tile<const double, 2>;\n" + body,
      matrix_kernel("k"));
  REQUIRE(facts.functions.size() == 1);
  REQUIRE(facts.functions[0].operands.size() == 2);
  CHECK(facts.functions[0].operands[0].writes == false);
  return facts.functions[0].operands[1];
}

}  // namespace

TEST_CASE("header reader: functions that only compute") {
  CHECK(of_f("#include <cmath>\ninline double f(double x) { return std::erf(x) + pow(x, 2); }") == "good");
  CHECK(of_f("static const double t[2] = {1, 2};\nconstexpr double c = 3;\ndouble f(const double& x) { return t[0] * x "
             "+ c; }") == "good");
  CHECK(of_f("#include <vector>\n#include <algorithm>\ninline double f(double x) { std::vector<double> v(9, x); "
             "std::sort(v.begin(), v.end()); return v[0]; }") == "good");
  CHECK(of_f("#include <array>\ninline double f(double x) { std::array<double, 2> a{x, 1}; auto g = [&](double y) { "
             "return y + a[0]; }; return g(a[1]); }") == "good");
  CHECK(of_f("template <class T> T twice(T x) { return x + x; }\ninline double f(double x) { return twice(x); }") ==
        "good");
  CHECK(of_f("inline float f(float x) { return x; }\ninline double f(double x) { return x; }") == "good");
}

TEST_CASE("header reader: functions of other types") {
  CHECK(of_f("inline float f(double x) { return 1; }") ==
        "1:14 `f` has the type `float (double)`; the program needs `double f(double)`");
  CHECK(of_f("inline double f(double x, double y) { return x; }") ==
        "1:15 `f` has the type `double (double, double)`; the program needs `double f(double)`");
  CHECK(of_f("\ntemplate <class T> T f(T x) { return x; }") ==
        "2:22 `f` is a template; the program needs `double f(double)`");
  CHECK(of_f("namespace own { inline double f(double x) { return x; } }") ==
        "1:31 `own::f` is not in the global namespace, where functions of `extern` are looked up");
  CHECK(of_f("inline double g(double x) { return x; }").find("declares no function `f`") != std::string::npos);
  CHECK(of_f("inline double f(double x) { return y; }") == "1:36 use of undeclared identifier 'y'");
  CHECK(of_kernel("void k(Out A, Out L) { L(0, 0) = A(0, 0); }") ==
        "3:6 `k` has the type `void (Out, Out)`; the program needs `void k(tdsl::Tile<const double, 2>, "
        "tdsl::Tile<double, 2>)`");
}

TEST_CASE("header reader: effects") {
  CHECK(of_f("int n = 0;\ndouble f(double x) { return x + n; }") ==
        "2:33 `f` uses the global variable `n`, which is no constant");
  CHECK(of_f("double f(double x) { static int n = 0; return x + n; }") ==
        "1:33 `f` keeps the static variable `n` from call to call");
  CHECK(of_f("double f(double x) { if (x < 0) throw 1; return x; }") == "1:33 `f` throws");
  CHECK(of_f("#include <cstdio>\ndouble f(double x) { std::puts(\"\"); return x; }") ==
        "2:22 `f` calls `puts`, which has no body here: its effects are unknown");
  CHECK(of_f("double g(double);\ndouble f(double x) { return g(x); }") ==
        "2:29 `f` calls `g`, which has no body here: its effects are unknown");
  CHECK(of_f("double f(double x);") == "1:8 `f` has no body here: its effects are unknown");
  CHECK(of_f("double f(double x) { volatile double y = x; return y; }") == "1:52 `f` accesses a volatile variable");
  CHECK(of_f("double f(double x) { const double y = x; const_cast<double&>(y) = 1; return y; }") ==
        "1:42 `f` casts const away");
  CHECK(of_f("double f(double x) { double (*g)(double) = f; return g(x); }") ==
        "1:54 `f` calls a function through a pointer: its effects are unknown");
  CHECK(of_f("double f(double x) { asm(\"\"); return x; }") == "1:22 `f` contains assembler");
  CHECK(of_f("double cell;\ndouble* const p = &cell;\ndouble f(double x) { return *p = x; }") ==
        "3:30 `f` uses the global variable `p`, which is no constant");
  CHECK(of_f("#include <vector>\ndouble f(double x) { std::vector<double> v(3); return v.at(int(x)); }")
            .find("calls a library function that calls") != std::string::npos);
  CHECK(of_f("#include <vector>\nint n = 0;\nstruct S { S() { ++n; } };\ndouble f(double x) { std::vector<S> v(3); "
             "return x; }") != "good");
  CHECK(of_f("int n = 0;\ninline void g() { ++n; }\ndouble f(double x) { g(); return x; }") ==
        "2:21 `f` uses the global variable `n`, which is no constant");
}

TEST_CASE("header reader: nothing happens outside of functions") {
  const auto beside_f = [](const std::string& text) {
    return verdict(text + "\ndouble f(double x) { return x; }", scalar_function("f"));
  };
  const auto refused = [&](const std::string& text, const std::string& what) {
    return beside_f(text).find(what) != std::string::npos;
  };
  CHECK(beside_f("#include <iostream>\nconstexpr double a[2] = {1, 2};\nstatic const int n = 3;\ninline double count = "
                 "0;\nstruct S { static constexpr int k = 2; int* p = nullptr; };\nS s;") == "good");
  CHECK(beside_f("template <class T> struct V { static inline T t = T(1); };\ninline int k = V<int>::t;\nvoid g() { "
                 "static int n = k; ++n; }")
            .find("2:12 `k` is initialised by code") == 0);
  CHECK(beside_f("int g();\nconst int n = g();") ==
        "2:11 `n` is initialised by code that runs when the program starts: declare it constexpr, or a local variable");
  CHECK(refused("int g();\ntemplate <class T> struct V { static inline T t = g(); };\ntemplate struct V<int>;",
                "is initialised by code"));
  CHECK(refused("int g();\nthread_local int n = g();", "is initialised by code"));
  CHECK(beside_f("struct S { ~S() {} };\nS s;") ==
        "2:3 `s` is destroyed by code that runs when the program ends: make it a local variable");
  CHECK(beside_f("__attribute__((constructor)) void g() {}") ==
        "1:16 the attribute `constructor` runs code when the program starts");
  CHECK(beside_f("[[gnu::destructor]] void g() {}") ==
        "1:3 the attribute `destructor` runs code when the program ends");
  CHECK(refused("extern \"C\" void (*choose())() { return nullptr; }\nvoid g() __attribute__((ifunc(\"choose\")));",
                "runs code when the program is loaded"));
  CHECK(refused("void g() {}\n__attribute__((section(\".init_array\"), used)) static void (*const p)() = g;",
                "the attribute `section`"));
  CHECK(refused("double g(double) __asm__(\"exp\");", "gives a symbol of the program another meaning"));
  CHECK(beside_f("asm(\".section .init_array\");") == "1:1 assembler outside of functions may do anything");
  CHECK(beside_f("int main() { return 0; }") == "1:5 `main` is the program's: a header does not define it");
  CHECK(refused("extern \"C\" double exp(double x) { return x; }", "`exp` replaces the library's function"));
  CHECK(refused("#include <new>\nvoid* operator new(std::size_t) { return nullptr; }",
                "replaces the library's function"));
  CHECK(refused("namespace tdsl { inline int k = 1; }", "the namespace `tdsl` is the runtime's"));
  CHECK(of_f("int n = 0;\nvoid g(int*) { ++n; }\ndouble f(double x) { __attribute__((cleanup(g))) int k = 0; return x "
             "+ k; }")
            .find("2:18 `f` uses the global variable `n`") == 0);
}

TEST_CASE("header reader: macros that are left defined") {
  const std::string f = "double f(double x) { return x; }\n";
  CHECK(of_f("#include <cmath>\n" + f +
             "#define lo hi\n#define exp log\n#define j i\n#define main start\n#define x y") == "good");
  CHECK(of_f(f + "#define f g") ==
        "2:9 the macro `f` is left defined and rewrites calls of the function: #undef it at the end of the header");
  CHECK(of_f(f + "#define f(x) g(x)\n#undef f") == "good");
  CHECK(
      of_f(f + "#define double float") ==
      "2:9 the macro `double` is left defined and rewrites calls of the functions: #undef it at the end of the header");
  CHECK(of_f("#ifndef GUARD\n#define GUARD\n" + f + "#endif\n") == "good");
}

TEST_CASE("header reader: what may never end") {
  const auto may_stop = [](const std::string& body) {
    return facts_of(body, scalar_function("f")).functions.at(0).may_stop;
  };
  CHECK_FALSE(may_stop("double f(double x) { for (int i = 0; i < 9; ++i) x *= 2; return x; }"));
  CHECK_FALSE(may_stop("double f(double x) { return int(x) / 3; }"));
  CHECK(may_stop("double f(double x) { for (int i = 0; i < 9; ++i) --i; return x; }"));
  CHECK(may_stop("double f(double x) { while (x < 1) x *= 2; return x; }"));
  CHECK(may_stop("double f(double x) { return 3 / int(x); }"));
  CHECK(may_stop("double f(double x) { return x < 1 ? x : f(x / 2); }"));
}

TEST_CASE("header reader: what kernels write whole") {
  const std::string nest =
      "for (std::int64_t i = 0; i < L.extent(0); ++i) for (std::int64_t j = 0; j < A.extent(1); ++j) ";
  CHECK(out_of("void k(In A, Out L) { " + nest + "L(i, j) = 2 * A(i, j); }").constructs);
  CHECK(out_of("void k(In A, Out L) { const auto n = A.extent(0); for (std::int64_t j = 0; j < n; ++j) for "
               "(std::int64_t i = 0; i < n; ++i) L(i, j) = 0; }")
            .constructs);
  CHECK_FALSE(out_of("void k(In A, Out L) { " + nest + "if (i < j) L(i, j) = 2 * A(i, j); }").constructs);
  CHECK_FALSE(out_of("void k(In A, Out L) { " + nest + "L(i, i) = A(i, j); }").constructs);
  CHECK_FALSE(out_of("void k(In A, Out L) { " + nest + "{ if (j > i) break; L(i, j) = A(i, j); } }").constructs);
  CHECK_FALSE(
      out_of("void k(In A, Out L) { " + nest + "{ L(i, j) = A(i, j); if (L(j, i) > 0) L(i, j) = 1; } }").constructs);
  CHECK_FALSE(out_of("void k(In A, Out L) { for (std::int64_t i = 0; i < 3; ++i) for (std::int64_t j = 0; j < 3; ++j) "
                     "L(i, j) = 0; }")
                  .constructs);
  CHECK_FALSE(out_of("void k(In A, Out L) { double* p = L.data(); for (int i = 0; i < 4; ++i) p[i] = 0; }").constructs);
  CHECK(out_of("void k(In A, Out L) { " + nest + "L(i, j) = A(i, j); }").forwards == 0);
  CHECK(out_of("void k(In A, Out L) { " + nest + "L(i, j) = A(j, i); }").forwards == -1);
  CHECK(out_of("void fill(Out L) { L(0, 0) = 1; }\nvoid k(In A, Out L) { fill(L); }").writes);
}

TEST_CASE("header reader: operands used against their declaration") {
  CHECK(of_kernel("void k(In A, Out L) { double s = A(0, 0); s += 1; }") ==
        "3:14 `k` never writes its out operand `L`");
  CHECK(of_kernel(
            "void k(In A, Out L) { for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) L(i, j) += A(i, j); }") ==
        "3:79 `k` reads its out operand `L` before it writes it");
  CHECK(
      of_kernel("double first(In A) { return A(0, 0); }\nvoid k(In A, Out L) { double s = first(L); L(0, 0) = s; }") ==
      "4:34 `k` reads its out operand `L` before it writes it");
  CHECK(of_kernel("void k(In A, Out L) { for (int j = 0; j < 3; ++j) { double s = A(j, j); for (int i = 0; i < j; ++i) "
                  "s -= L(j, i); L(j, j) = s; } }") == "good");
  CHECK(of_kernel("void k(In A, Out L) { A(0, 0) = 1; L(0, 0) = 1; }").find("3:") == 0);
}

}  // namespace tdsl
