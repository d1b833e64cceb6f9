#include <doctest/doctest.h>

#include <string>

#include "codegen/lower/program.h"
#include "codegen/print/emit.h"
#include "ir/text/print.h"
#include "passes/pipeline.h"
#include "tests/unit/codegen/compiled.h"

// Emitted nests over rows: symmetric products.

using namespace tdsl;
using namespace tdsl::codegen;

namespace {

const std::string kRows =
    "program \"p\"\nfile \"p.tdsl\"\n"
    "%0:i64 \"n\" = dimension \"n\" @0:1:1-1:2\n%1:i64 \"d\" = dimension \"d\" @0:1:1-1:2\n"
    "%2:f64[%0, %1] \"X\" = input \"X\" @0:1:1-1:2\n"
    "%4:f64[%0] \"w\" = input \"w\" @0:3:1-3:2\n";

/// The program's C++, with nests over rows wherever they are possible.
std::string emitted_rows(const std::string& body) {
  passes::PassContext context;
  passes::PipelineOptions options;
  options.fusion = passes::FusionPolicy::kAll;
  return emit(lower(passes::run_pipeline(ir::parse(kRows + body), options, context)), {});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("codegen emit: the upper part of a symmetric product of rows is computed") {
  const std::string products = "rt::rows::add_upper_product<double>(";
  const std::string weighted =
      "%5:f64[%1, %1] \"H\" = compute [j in 0..%1, k in 0..%1] sum[i in 0..%0] (mul(mul(%2[i, j], %4[i]), %2[i, k]))\n"
      "output \"H\" %5\n";
  const std::string text = emitted_rows(weighted);
  CHECK_MESSAGE(has(text, products), text);
  CHECK_MESSAGE(has(text, "rt::rows::mirror<double>(H, "), text);
  CHECK(testing::compiler_says(text) == "");
  // tanh(X)' X is not symmetric.
  const std::string other = emitted_rows(
      "%5:f64[%1, %1] \"H\" = compute [j in 0..%1, k in 0..%1] sum[i in 0..%0] (mul(tanh(%2[i, j]), %2[i, k]))\n"
      "output \"H\" %5\n");
  CHECK_MESSAGE(has(other, "rt::rows::add_product<double>("), other);
  CHECK_MESSAGE(!has(other, "mirror"), other);
}
