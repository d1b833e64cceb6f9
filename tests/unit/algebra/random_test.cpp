#include <algorithm>

#include "ir/algebra/rules/paper_cost.h"
#include "ir/algebra/rules/reachable.h"
#include "tests/unit/algebra/random.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

namespace {

std::vector<Sites> some_sites(int axes, std::uint64_t seed) {
  if (axes == 1) return {{Mesh{{1}}, 0}, {Mesh{{3}}, 0}, {Mesh{{4}}, seed}};
  if (axes == 3) return {{Mesh{{2, 2, 2}}, 0}, {Mesh{{2, 3, 2}}, seed}};
  return {{Mesh{{2, 3}}, 0}, {Mesh{{3, 2}}, seed}};
}

}  // namespace

TEST_CASE("algebra random: printed expressions read back unchanged") {
  Pool pool;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomAlgebra random(pool, seed);
    const Expr e = random.expression(6);
    for (const Expr& x : {e, random.plan(e), random.plan(e, 2)}) {
      const std::string text = print(x);
      CAPTURE(text);
      CHECK(parse_one(pool, text) == x);
      Pool other;
      CHECK(print(parse_one(other, text)) == text);
    }
  }
}

TEST_CASE("algebra random: compiled and random plans give what expressions mean, whatever the sites") {
  Pool pool;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    RandomAlgebra random(pool, seed);
    const Expr e = random.expression(6);
    const Data data = random_inputs(e, seed);
    const Tuples meaning = evaluate(e, data);
    CHECK(KeySet::of(
              [&] {
                std::vector<Key> keys;
                for (const auto& [key, block] : meaning) keys.push_back(key);
                return keys;
              }(),
              e->type.keys.arity()) == e->type.keys);
    const auto check = [&](Expr plan, int axes) {
      if (!plan->sound) return;
      if (plan->type.pieces) plan = random.whole(plan);
      CAPTURE(print(plan));
      CHECK(verify(plan) == std::vector<std::string>{});
      for (const Sites& sites : some_sites(axes, seed + 1)) {
        const PlanRun run = run_plan(plan, data, sites);
        CHECK(run.value == meaning);
        CHECK(run.moved <= run.paper);
        const std::vector<Expr> roots{plan};
        CHECK(run.paper <= paper_cost(roots, sites.mesh));
      }
    };
    check(compile(pool, e, [&](const Input& input) { return random.layout(input.frontier.size(), 1, true); }), 1);
    check(random.plan(e), 1);
    check(random.plan(e, 2), 2);
    check(random.plan(e, 3), 3);
  }
}

}  // namespace tdsl::tests::relations
