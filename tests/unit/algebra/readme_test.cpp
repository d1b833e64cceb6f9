#include <fstream>
#include <iterator>
#include <regex>

#include "tests/unit/algebra/support.h"

// The worked example of ir/algebra/README.md.

namespace tdsl::tests::relations {

using namespace ir::algebra;

namespace {

/// The blocks of the text form on the page, each with the cost that the sentence before it gives, or 0.
struct Example {
  std::string text;
  Index cost = 0;
};
std::vector<Example> examples() {
  std::ifstream file(TDSL_SOURCE_DIR "/ir/algebra/README.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::regex example("(?:costs ([0-9]+) floats[^`]*)?\n```\n([^`]*)```");
  std::vector<Example> found;
  for (std::sregex_iterator m(page.begin(), page.end(), example), end; m != end; ++m)
    found.push_back({m->str(2), (*m)[1].matched ? std::stoll(m->str(1)) : 0});
  return found;
}

}  // namespace

TEST_CASE("algebra: the README's plans are printed like that, cost that much and give the product") {
  const std::vector<Example> all = examples();
  REQUIRE(all.size() == 3);
  Pool pool;
  for (const Example& example : all) {
    CAPTURE(example.text);
    const Program program = parse(pool, example.text);
    CHECK(print(program) == example.text);
    CHECK(verify(program) == std::vector<std::string>{});
    CHECK(paper_cost(program.roots(), Mesh{{4}}) == example.cost);
  }
  CHECK(all[1].cost == 640'000);
  CHECK(all[2].cost == 160'000);
}

}  // namespace tdsl::tests::relations
