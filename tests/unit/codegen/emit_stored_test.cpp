#include <doctest/doctest.h>

#include "codegen/lower/program.h"
#include "codegen/operations/program.h"
#include "codegen/print/emit.h"
#include "ir/text/print.h"
#include "passes/passes.h"
#include "tests/unit/codegen/compiled.h"

// Emitted C++ of operations that iterate over stored elements.

namespace {

using namespace tdsl;

const std::string kCompressedMatrices =
    "program \"p\"\nfile \"p.tdsl\"\n"
    "%0:i64 \"n\" = dimension \"n\" @0:1:1-1:2\n%1:i64 \"m\" = dimension \"m\" @0:1:1-1:2\n%2:i64 \"d\" = dimension "
    "\"d\" @0:1:1-1:2\n"
    "%3:f64[%0, compressed %1] \"A\" = input \"A\" @0:1:1-1:2\n%4:f64[%0, compressed %1] \"B\" = input "
    "\"B\" @0:1:1-1:2\n"
    "%5:f64[%0] \"x\" = input \"x\" @0:2:1-2:2\n%6:f64[%1] \"y\" = input \"y\" @0:2:1-2:2\n%7:f64[%1, %2] \"V\" = "
    "input \"V\" @0:3:1-3:2\n";

std::string emitted_stored(const std::string& body) {
  passes::PassContext context;
  return codegen::emit(codegen::lower(passes::iteration(ir::parse(kCompressedMatrices + body), context)), {});
}
std::string emitted_coded(const std::string& body, bool nests = false) {
  passes::PassContext context;
  ir::Program program = passes::iteration(ir::parse(kCompressedMatrices + body), context);
  if (nests) program = passes::stored_nests(program, context);
  return codegen::emit(codegen::lower(passes::coding(program, context)), {});
}

std::string emitted_walk(const std::string& body) {
  passes::PassContext context;
  const ir::Program program = passes::iteration(ir::parse(kCompressedMatrices + body), context);
  return codegen::emit(codegen::lower(passes::stored_nests(program, context)), {});
}

void check_contains(const std::string& text, const std::string& part) {
  CHECK_MESSAGE(text.find(part) != std::string::npos, part << "\nis not in\n" << text);
}

/// Independent of line breaks.
void check_contains_words(std::string text, std::string part) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\n'; };
  std::erase_if(text, is_blank);
  std::erase_if(part, is_blank);
  check_contains(text, part);
}

}  // namespace

TEST_CASE("codegen emit stored: a product with a vector runs along rows into a scalar and fetches ahead") {
  const std::string text = emitted_stored(
      "%8:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%3[i, j], %6[j])) @0:4:1-4:2\noutput \"r\" "
      "%8\n");
  check_contains(text, "auto A = session.stored_input<double>(\"A\", {n, m}, 1, 1);");
  check_contains(text, "const auto A = rt::stored_in<double, 2>(t, 0);");
  check_contains(text, "const auto r = t.out_from<double, 1>(0.0);");
  check_contains(text, "A.rows(range_i, [&](const auto& row) {");
  check_contains(text, "double total = 0.0;");
  check_contains_words(text, "rt::elements_ahead<double>(range_j.size()), [&](Index j) { rt::fetch_ahead(y(j)); },");
  check_contains(text, "[&](Index j, double a) { total += scalar::absent_multiply(a, y(j)); });");
  check_contains_words(text, "session.sparse<double>({\"r\", ");
  check_contains_words(
      text, "{{\"i\", n}}, {{\"j\", m, Cut::kWhole}}, Combine::kNone, {{std::move(A), {at(0), walked(1)}}, ");
}

TEST_CASE("codegen emit stored: sums of a row in a walk are added up in lanes, and updates of results are not") {
  const std::string text = emitted_walk(
      "%8:f64[%0] \"u\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%3[i, j], %6[j])) @0:4:1-4:2\n"
      "%9:f64[%1] \"r\" = compute [j in 0..%1] sum[i in 0..%0] (absent_mul(%3[i, j], %8[i])) @0:5:1-5:2\n"
      "output \"r\" %9\n");
  check_contains_words(text, "row.sums(rt::elements_ahead<double>(Interval{0, m}.size()), [&](Index");
  check_contains_words(text, "double a, double& total");
  check_contains_words(text, "row.each(rt::elements_ahead<double>(Interval{0, m}.size()), [&](Index");
}

TEST_CASE("codegen emit stored: a guard with both bounds of the column is a part of the row") {
  const std::string text = emitted_stored(
      "%8:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (%3[i, j]) where eq(i, j) @0:4:1-4:2\noutput \"r\" "
      "%8\n");
  check_contains(text, "const Index j_begin = std::max<Index>(range_j.lo, i);");
  check_contains_words(text, "row.each(Interval{j_begin, j_end}, [&](Index, double a) { total += a; });");
  // One bound is tested per element.
  const std::string below = emitted_stored(
      "%8:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (%3[i, j]) where lt(j, i) @0:4:1-4:2\noutput \"r\" "
      "%8\n");
  check_contains_words(below, "row.each([&](Index j, double a) { if (j < i) total += a; });");
}

TEST_CASE("codegen emit stored: with the transpose rows are reduced, and what lies along them is read once per row") {
  const std::string text = emitted_stored(
      "%8:f64[%1] \"r\" = compute [j in 0..%1] sum[i in 0..%0] (absent_mul(%3[i, j], %5[i])) @0:4:1-4:2\noutput \"r\" "
      "%8\n");
  check_contains(text, "const double x_i = x(i);");
  check_contains(text, "rt::fetch_ahead(r(j));");
  check_contains(text, "r(j) += scalar::absent_multiply(a, x_i);");
  check_contains_words(text, "{{\"j\", m, Cut::kWhole}}, {{\"i\", n}}, Combine::kSum, ");
}

TEST_CASE("codegen emit stored: rows of a dense matrix are added up along the row of the result") {
  const std::string text = emitted_stored(
      "%8:f64[%0, %2] \"R\" = compute [i in 0..%0, f in 0..%2] sum[j in 0..%1] (absent_mul(%3[i, j], %7[j, f])) "
      "@0:4:1-4:2\noutput \"R\" %8\n");
  check_contains_words(text, "rt::row_panels<double>(range_f, [&](Index f) -> double& { return R(i, f); },");
  check_contains(text, "sums.add([&](Index f) { return scalar::absent_multiply(a, V(j, f)); });");
}

TEST_CASE("codegen emit stored: a compressed result is put together row by row, and other elements are looked up") {
  const std::string text = emitted_stored(
      "%8:f64[%0, compressed %1] \"P\" = compute [i in 0..%0, j in 0..%1] (add(mutual_mul(%3[i, j], %4[i, j]), "
      "0.0)) @0:4:1-4:2\n"
      "%9:f64 \"s\" = compute [] sum[i in 0..%0, j in 0..%1] (%8[i, j]) @0:5:1-5:2\noutput \"s\" %9\n");
  check_contains(text, "rt::StoredTile<double> P(t);");
  check_contains(text, "P.row(i);");
  check_contains(text, "rt::both(A, B).rows(range_i, [&](const auto& row) {");
  check_contains(text,
                 "row.each([&](Index j, double a, double b) { P.put(j, scalar::mutual_multiply(a, b) + 0.0); });");
  check_contains(text, "P.finish();");
  check_contains(text, ".stored_like(A.desc())");
  check_contains(text, "row.each([&](Index, double p) { total += p; });");
}

TEST_CASE("codegen emit stored: points with computed positions are assembled") {
  const std::string text = emitted_stored(
      "%8:i64[%0] \"p\" = input \"p\" @0:1:1-1:2\n"
      "%9:f64[%0, compressed %1] \"K\" = compute [i in 0..%0] (%5[i]) left [%8[i], %8[i]] combine sum fill 0.0 "
      "@0:4:1-4:2\n"
      "%10:f64[%0, compressed %1] \"P\" = compute [i in 0..%0] (%5[i]) left [%8[i], 0] fill 0.0 @0:5:1-5:2\n"
      "%11:f64 \"s\" = compute [] sum[i in 0..%0, j in 0..%1] (absent_mul(%9[i, j], %10[i, j])) @0:6:1-6:2\n"
      "output \"s\" %11\n");
  check_contains(text, "rt::AssembledTile<double> K(t);");
  check_contains(text, "K.put({at0, at1}, x(i));");
  check_contains(text, "K.finish(Combine::kSum);");
  check_contains(text, "P.finish_once(place(5), \"an element of `P` is written twice by `=` [assertion]\");");
  check_contains(text, ".stored_assembled()");
}

TEST_CASE("codegen emit stored: levels of tensors of any number of dimensions") {
  const std::string text = emitted_stored(
      "%8:f64[%0, compressed %1, compressed %2] \"T\" = input \"T\" @0:1:1-1:2\n%9:f64[compressed %0] \"v\" "
      "= input \"v\" @0:1:1-1:2\n"
      "%10:f64[%0] \"M\" = compute [i in 0..%0] sum[j in 0..%1, k in 0..%2] (absent_mul(%8[i, j, k], %7[j, k])) "
      "@0:4:1-4:2\n"
      "%11:f64[compressed %0, compressed %1] \"F\" = compute [i in 0..%0, j in 0..%1] sum[k in 0..%2] (%8[i, j, k]) "
      "@0:5:1-5:2\n"
      "%12:f64[%0, compressed %1, compressed %2] \"D\" = compute [i in 0..%0, j in 0..%1, k in 0..%2] "
      "(absent_mul(%8[i, j, k], 2.0)) @0:6:1-6:2\n"
      "%13:f64[compressed %0] \"w\" = compute [i in 0..%0] (absent_mul(%9[i], %5[i])) @0:7:1-7:2\n"
      "output \"M\" %10\noutput \"F\" %11\noutput \"D\" %12\noutput \"w\" %13\n");
  check_contains(text, "auto T = session.stored_input<double>(\"T\", {n, m, d}, ");
  check_contains(text, "const auto T = rt::stored_in<double, 3>(t, 0);");
  check_contains_words(text, "{T, {at(0), walked(1), walked(2)}}");
  check_contains(text, "T.walk(range_i, [&](const auto& row) {");
  check_contains(text, "row.walk([&](const auto& fibre) {");
  check_contains(text, "fibre.each([&](Index k, double t_2) { total += scalar::absent_multiply(t_2, V(j, k)); });");
  check_contains(text, "F.row(i);");
  check_contains(text, "F.put(j, total);");
  check_contains(text, "D.at(0, i);");
  check_contains(text, "D.at(1, j);");
  check_contains(
      text, "v.each(range_i, [&](Index i, double value_2) { w.put(i, scalar::absent_multiply(value_2, x(i))); });");
  CHECK(codegen::testing::compiler_says(text) == "");
}

TEST_CASE("codegen emit stored: a union visits elements of either matrix, with 0 for the other") {
  const std::string text = emitted_stored(
      "%8:f64[%0, compressed %1] \"S\" = compute [i in 0..%0, j in 0..%1] (add(%3[i, j], absent_mul(%4[i, j], "
      "%5[i]))) @0:4:1-4:2\n"
      "%9:f64 \"s\" = compute [] sum[i in 0..%0, j in 0..%1] (%8[i, j]) @0:5:1-5:2\noutput \"s\" %9\n");
  check_contains(text, "rt::either(A, B).rows(range_i, [&](const auto& row) {");
  check_contains(text,
                 "row.each([&](Index j, double a, double b) { S.put(j, a + scalar::absent_multiply(b, x_i)); });");
  check_contains(text, ".visits({&A.desc(), &B.desc()})");
  check_contains(text, ".stored_like({&A.desc(), &B.desc()})");
}

TEST_CASE("codegen emit stored: vectors and tensors of three dimensions are walked together") {
  const std::string text = emitted_stored(
      "%8:f64[%0, compressed %1, compressed %2] \"T\" = input \"T\"\n%9:f64[%0, compressed %1, compressed %2] \"U\""
      " = input \"U\"\n"
      "%10:f64[compressed %0] \"v\" = input \"v\"\n%11:f64[compressed %0] \"w\" = input \"w\"\n"
      "%12:f64[%0, compressed %1, compressed %2] \"S\" = compute [i in 0..%0, j in 0..%1, k in 0..%2] (add(%8[i, j, "
      "k], %9[i, j, k])) @0:4:1-4:2\n"
      "%13:f64[%0] \"M\" = compute [i in 0..%0] sum[j in 0..%1, k in 0..%2] (mutual_mul(%12[i, j, k], %9[i, j, k])) "
      "@0:5:1-5:2\n"
      "%14:f64[compressed %0] \"s\" = compute [i in 0..%0] (sub(%10[i], %11[i])) @0:6:1-6:2\n"
      "%15:f64 \"p\" = compute [] sum[i in 0..%0] (mutual_mul(%14[i], %11[i])) @0:7:1-7:2\noutput \"M\" %13\noutput "
      "\"p\" %15\n");
  check_contains(text, "rt::either(T, U).walk(range_i, [&](const auto& row) {");
  check_contains(text, "row.walk([&](const auto& fibre) {");
  check_contains(text, "rt::both(S, U).walk(range_i, [&](const auto& row) {");
  check_contains(text, "rt::either(v, w).each(range_i, [&](Index i, double ");
  check_contains(text, "rt::both(s, w).each(");
  CHECK(codegen::testing::compiler_says(text) == "");
}

TEST_CASE("codegen emit stored: emitted code compiles without a warning") {
  CHECK(codegen::testing::compiler_says(emitted_stored(
            "%8:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%3[i, j], %6[j]))\n"
            "%9:f64[%0, compressed %1] \"P\" = compute [i in 0..%0, j in 0..%1] (add(mutual_mul(%3[i, j], %4[i, "
            "j]), 0.0)) where gt(%5[i], 0.0)\n"
            "%10:f64[%1] \"c\" = compute [j in 0..%1] max[i in 0..%0] (absent_mul(%9[i, j], %5[i])) where and(ne(%9[i, "
            "j], 0.0), lt(i, j))\n"
            "%11:f64[%0, %2] \"R\" = compute [i in 0..%0, f in 0..%2] sum[j in 0..%1] (absent_mul(%3[i, j], exp(%7[j, "
            "f])))\n"
            "%12:i64 \"k\" = compute [] sum[i in 0..%0, j in 0..%1] (1) where ne(%3[i, j], 0.0)\n"
            "%13:f64[%0, compressed %1] \"S\" = compute [i in 0..%0, j in 0..%1] sum[f in 0..%2] "
            "(absent_mul(%3[i, j], mul(%7[j, f], %7[j, f])))\n"
            "%15:f64[%0, compressed %1] \"T\" = compute [i in 0..%0, j in 0..%1] (max(sub(%3[i, j], %4[i, j]), "
            "absent_mul(%9[i, j], %6[j])))\n"
            "%16:f64[%0] \"u\" = compute [i in 0..%0] sum[j in 0..%1] (mutual_mul(%15[i, j], %3[i, j]))\n"
            "%17:bool[%0, compressed %1] \"G\" = compute [i in 0..%0, j in 0..%1] (or(gt(%3[i, j], 1.0), "
            "lt(%4[i, j], %3[i, j])))\n"
            "%18:i64 \"g\" = compute [] sum[i in 0..%0, j in 0..%1] (1) where or(%17[i, j], lt(%15[i, j], -1.0))\n"
            "%14:f64 \"t\" = compute [] sum[i in 0..%0, j in 0..%1] (%13[i, j])\n"
            "output \"r\" %8\noutput \"c\" %10\noutput \"R\" %11\noutput \"k\" %12\noutput \"t\" %14\noutput \"u\" "
            "%16\noutput \"g\" %18\n")) == "");
}

TEST_CASE("codegen emit stored: unsupported operations are errors with a line") {
  const auto refused = [](const std::string& body) {
    try {
      static_cast<void>(emitted_stored(body));
    } catch (const codegen::NotSupported& e) { return std::to_string(e.range().line) + ": " + e.what(); }
    return std::string("emitted");
  };
  CHECK(refused(
            "%8:f64[%0, %1] \"R\" = compute [i in 0..%0, j in 0..%1] (exp(%3[i, j])) @0:4:1-4:2\noutput \"R\" %8\n") ==
        "4: `A` is compressed, and this is not supported of compressed tensors yet");
  CHECK(refused("%8:f64[%0, %1] \"R\" = routine cumsum (%3) axis 0 @0:4:1-4:2\noutput \"R\" %8\n") ==
        "4: `A` is compressed, and this is not supported of compressed tensors yet");
  CHECK(refused("%8:f64[%0] \"R\" = compute [i in 0..%0] user(\"u\", 0.0, $1:f64)[f in 0..%2, j in 0..%1] (%7[j, f]) "
                "where ne(%3[i, j], 0.0) @0:4:1-4:2\noutput \"R\" %8\n")
            .starts_with("4: `A` is compressed"));
}

TEST_CASE("codegen emit stored: elements in other places are moved by a kernel of the runtime") {
  const std::string text = emitted_stored(
      "%8:f64[compressed %1, %0] \"T\" = compute [j in 0..%1, i in 0..%0] (%3[i, j]) @0:4:1-4:2\n"
      "%9:f64[%0, compressed %1] \"R\" = compute [i in 0..%0, j in 0..%1] (%3[i, mod(add(j, 2), %1)]) "
      "@0:5:1-5:2\n"
      "%10:f64[%0, compressed %1] \"L\" = compute [i in 0..%0, j in 0..%1] (select(ge(j, 1), %3[i, sub(j, 1)], "
      "0.0)) @0:6:1-6:2\n"
      "output \"T\" %8\noutput \"R\" %9\noutput \"L\" %10\n");
  check_contains(text, "#include \"runtime/kernels/rearranged.h\"");
  check_contains_words(text,
                       ".label(\"j\", Interval{0, m}).reduce(\"i\", n).write({m, n}, {{0, 1, 0}, {plan::kAnyLabel, 1, "
                       "0}}).read(A.id(), {at(1), whole()}).combine(Combine::kSum)");
  check_contains_words(text, ".moves()");
  check_contains_words(text, ".stored_elements_of({&A.desc()})");
  check_contains_words(text, "rt::rearranged_kernel<double>({{0, {1, 1, 0, 0}, {0, 1, 0, 0}, {{{0, m}, {0, n}}}}})");
  check_contains_words(text, "rt::rearranged_kernel<double>({{0, {0, 1, 0, 0}, {1, 1, 2, m}, {{{0, n}, {0, m}}}}})");
  check_contains_words(
      text,
      "rt::rearranged_kernel<double>({{0, {0, 1, 0, 0}, {1, 1, -1, 0}, {{{0, n}, {std::max<Index>({0, 1}), m}}}}})");
  CHECK(codegen::testing::compiler_says(text) == "");
}

TEST_CASE("codegen emit stored: rows and columns are selected by index vectors, which are operands") {
  const std::string text = emitted_stored(
      "%8:i64[%2] \"p\" = input \"p\" @0:2:1-2:2\n"
      "%9:f64[%2, compressed %1] \"R\" = compute [i in 0..%2, j in 0..%1] (%3[%8[i], j]) @0:4:1-4:2\n"
      "%10:f64[%2, compressed %2] \"S\" = compute [i in 0..%2, j in 0..%2] (%3[%8[i], %8[j]]) @0:5:1-5:2\n"
      "%11:f64[%0, compressed %2] \"T\" = compute [i in 0..%0, j in 0..%2] (%3[i, %8[j]]) @0:6:1-6:2\n"
      "output \"R\" %9\noutput \"S\" %10\noutput \"T\" %11\n");
  check_contains_words(text,
                       ".read(A.id(), {whole(), whole()}).read(p.id(), {at(0)}).flops(0).stored_rows_selected_from("
                       "{&A.desc()})");
  check_contains_words(text, ".stored_columns_selected_from({&A.desc()})");
  check_contains_words(
      text,
      "rt::rearranged_kernel<double>({{0, {0, 1, 0, 0, {1, n, place(4), \"p[i]` of `A\"}}, {1, 1, 0, 0}, "
      "{{{0, d}, {0, m}}}}})");
  check_contains_words(
      text,
      "rt::rearranged_kernel<double>({{0, {0, 1, 0, 0, {1, n, place(5), \"p[i]` of `A\"}}, {1, 1, 0, 0, {2, "
      "m, place(5), \"p[j]` of `A\"}}, {{{0, d}, {0, d}}}}})");
  CHECK(codegen::testing::compiler_says(text) == "");
}

TEST_CASE("codegen emit stored: results at all points are appended row by row") {
  const std::string text = emitted_stored(
      "%8:f64[%1, compressed %2] \"P\" = compute [j in 0..%1, f in 0..%2] (%7[j, f]) where gt(%7[j, f], 1.0) "
      "@0:4:1-4:2\n"
      "%9:f64 \"s\" = compute [] sum[j in 0..%1, f in 0..%2] (%8[j, f]) @0:5:1-5:2\noutput \"s\" %9\n");
  check_contains(text, "rt::StoredTile<double> P(t);");
  check_contains(text, "P.row(j);");
  check_contains(text, "P.put(f, ");
  check_contains(text, "P.finish();");
  check_contains(text, ".stored_as_guessed()");
  CHECK(codegen::testing::compiler_says(text) == "");
}

TEST_CASE("codegen emit stored: of all points those are visited that the guard or the body bounds") {
  const auto emitted = [](const std::string& body_and_guard, const std::string& more = "") {
    return emitted_stored(more + "%8:f64[%0, compressed %1] \"K\" = compute [i in 0..%0, j in 0..%1] " +
                          body_and_guard + " @0:4:1-4:2\n" +
                          "%9:f64[%0] \"y\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%8[i, j], %6[j])) "
                          "@0:5:1-5:2\noutput \"y\" %9\n");
  };
  const std::string band = emitted("(mul(%5[i], %6[j])) where le(abs(sub(i, j)), 1)");
  check_contains_words(band,
                       "const Index j_end = std::min<Index>(range_j.hi, std::min<Index>(i + 1, "
                       "range_j.hi - 1) + 1);");
  check_contains_words(band, "std::max<Index>(range_j.lo, i - 1)");
  check_contains_words(band, ".visits_within({plan::from(1, 1, -1), plan::up_to(1, 1, 1)}).stored_at_visited()");
  CHECK(band.find("std::abs") == std::string::npos);
  CHECK(codegen::testing::compiler_says(band) == "");
  // An arbitrary number is clamped before it is added to a subscript.
  const std::string wide =
      emitted("(%5[i]) where lt(abs(sub(i, j)), %10)", "%10:i64 \"b\" = param \"b\" = 1 @0:3:1-3:2\n");
  check_contains(wide, "576460752303423488");
  check_contains_words(wide, ".visits_within({plan::from(1, 1, ");
  // The diagonal is recognised from the body; an additional condition remains, and one after an expression that may
  // fail bounds nothing.
  check_contains_words(emitted("(select(eq(i, j), 1.0, 0.0))"),
                       ".visits_within({plan::from(1, 1, 0), plan::up_to(1, 1, 0)}).stored_at_visited()");
  check_contains_words(emitted("(%5[i]) where and(ge(i, j), gt(%6[j], 0.0))"),
                       ".visits_within({plan::up_to(1, 1, 0)}).stored_as_guessed()");
  CHECK(emitted("(%5[i]) where and(gt(div(%2, i), 0), ge(i, j))").find(".visits_within(") == std::string::npos);
  CHECK(emitted("(%5[i]) where le(mul(i, j), 4)").find(".visits_within(") == std::string::npos);
}

TEST_CASE("codegen emit stored: operations over coded columns run once per distinct value") {
  const std::string text = emitted_coded(
      "%8:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%3[i, j], %6[j])) @0:4:1-4:2\n"
      "%9:f64[%1] \"s\" = compute [j in 0..%1] sum[i in 0..%0] (absent_mul(%3[i, j], %5[i])) @0:5:1-5:2\n"
      "%10:f64 \"t\" = compute [] sum[i in 0..%0, j in 0..%1] (%3[i, j]) @0:6:1-6:2\n"
      "%11:f64[%1] \"u\" = compute [j in 0..%1] max[i in 0..%0] (%3[i, j]) where ne(%3[i, j], 0.0) @0:7:1-7:2\n"
      "output \"r\" %8\noutput \"s\" %9\noutput \"t\" %10\noutput \"u\" %11\n");
  check_contains_words(text,
                       "auto A = session.coded_input<double>( \"A\", {n, m}, {.walks = 4, .nests = 0, .counts = 2, "
                       ".totals = 1, .weights = 1, .decoded = 0}, 1, 1);");
  check_contains(text, "#include \"runtime/kernels/coded.h\"");
  check_contains_words(text,
                       "rt::row_totals<Combine::kSum>(A, range_i, double(0.0), [&](Index j, double a, double& total) { "
                       "total += scalar::absent_multiply(a, y(j)); }, [&](Index i, double total) { r(i) = total; });");
  check_contains_words(text, "rt::weighted_values(A, range_i, [&](Index i) {");
  check_contains_words(text, "[&](Index j, double a, double weight) { s(j) += a * weight; });");
  check_contains_words(text, "rt::each_value(A, range_i, [&](Index, double a, Index count) { rt::add_repeated(");
  check_contains_words(text, "rt::each_value(A, range_i, [&](Index j, double a, Index) {");
}

TEST_CASE("codegen emit stored: operators that share a walk run once per distinct value, or the walk runs once") {
  const std::string text = emitted_coded(
      "%8:f64[%0] \"u\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%3[i, j], %6[j])) @0:4:1-4:2\n"
      "%9:f64[%1] \"s\" = compute [j in 0..%1] sum[i in 0..%0] (absent_mul(%3[i, j], mul(%5[i], %8[i]))) @0:5:1-5:2\n"
      "%10:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (%3[i, j]) @0:6:1-6:2\n"
      "output \"s\" %9\noutput \"r\" %10\n",
      true);
  check_contains_words(text, "{.walks = 1, .nests = 1, .counts = 0, .totals = 2, .weights = 1, .decoded = 0}");
  check_contains_words(text, "A.has_codes() ? rt::rows::Work::kCodes : rt::rows::Work::kLines");
  check_contains_words(text, "if (A.has_codes()) { rt::row_totals<Combine::kSum>(A, ");
  check_contains_words(text, "[&](Index i, double total) { u(i) = total; }); rt::weighted_values(A, ");
  check_contains_words(text, "} else { A.rows(");
  CHECK(codegen::testing::compiler_says(text) == "");
}

TEST_CASE("codegen emit stored: one operation does not code columns, nor do products with matrices") {
  const std::string once = emitted_coded(
      "%8:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%3[i, j], %6[j])) @0:4:1-4:2\noutput "
      "\"r\" %8\n");
  check_contains(once, "session.stored_input<double>(\"A\"");
  const std::string matrices = emitted_coded(
      "%8:f64[%0, %2] \"R\" = compute [i in 0..%0, f in 0..%2] sum[j in 0..%1] (absent_mul(%3[i, j], %7[j, f])) "
      "@0:4:1-4:2\n"
      "%9:f64[%0] \"r\" = compute [i in 0..%0] sum[j in 0..%1] (absent_mul(%3[i, j], %6[j])) @0:5:1-5:2\n"
      "output \"R\" %8\noutput \"r\" %9\n");
  check_contains(matrices, "session.stored_input<double>(\"A\"");
}
