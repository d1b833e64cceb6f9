#include <cstdlib>
#include <string>

#include "tests/unit/passes/nest_writer.h"
#include "tests/unit/passes/scop_writer.h"
#include "tests/unit/passes/support.h"

// Random loop nests over vectors and matrices: passes must preserve their semantics.

namespace {

using namespace tdsl;

/// TDSL_RANDOM_NESTS requests more than the default number.
std::uint64_t nests() {
  const char* asked = std::getenv("TDSL_RANDOM_NESTS");
  return asked == nullptr ? 400 : std::stoull(asked);
}

int loops_in(const ir::Program& program) {
  int count = 0;
  ir::for_each_node(program.body, [&](const ir::Node& n) { count += std::holds_alternative<ir::For>(n.op) ? 1 : 0; });
  return count;
}

}  // namespace

TEST_CASE("passes: random loop nests keep their meaning") {
  int before = 0;
  int after = 0;
  for (std::uint64_t seed = 0; seed < nests(); ++seed) {
    INFO("nest " << seed);
    const ir::Program source =
        ir::parse(seed % 3 == 0 ? tests::ScopWriter(seed).program() : tests::NestWriter(seed).program());
    tests::check_verified(source);
    passes::PassContext context;
    const ir::Program result = passes::run_pipeline(source, {}, context);
    const tests::RandomInputs inputs(source, seed);
    const auto expected = ir::evaluate(source, inputs.options());
    const std::string found = tests::difference(expected, ir::evaluate(result, inputs.options()));
    INFO("--- before\n" << ir::print(source) << "--- after\n" << ir::print(result));
    REQUIRE(found == "");
    before += loops_in(source);
    after += loops_in(result);
  }
  MESSAGE(before << " loops before, " << after << " after");
  CHECK(after < before);
}
