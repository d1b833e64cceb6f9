#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/schedules/einsum_costs.h"
#include "runtime/plan/search/solve.h"
#include "tests/unit/plan/target_regions.h"

using namespace tdsl::plan;
using namespace tdsl::tests::regions;
using tdsl::tests::bytes_only;
using tdsl::tests::RegionWriter;

// The costs of section 7 of the EinDecomp paper, in elements, and the optima of its matrix chain (A B) + (C (D E))
// found by hand. Slots are the dimensions of the result, then the inner label.

namespace {

const Region& square_product() {
  static const Region region = tdsl::tests::regions::product(8, 8, 8);
  return region;
}

EinsumCosts costs_of(const Region& region, Index processors) {
  return {region, bytes_only(processors, 1.2), processors};
}

}  // namespace

TEST_CASE("plan/search: EinDecomp's costs of one product") {
  const EinsumCosts sixteen = costs_of(square_product(), 16);
  REQUIRE(sixteen.sites().size() == 1);
  const EinsumExpression& einsum = sixteen.sites().front().einsum;
  const auto costs = [&](Index i, Index j, Index k) {
    CHECK(EinsumExpression::calls({i, k, j}) == 16);
    return std::pair(einsum.join_cost({i, k, j}), einsum.aggregation_cost({i, k, j}));
  };
  CHECK(costs(4, 1, 4) == std::pair(512.0, 0.0));
  CHECK(costs(2, 1, 8) == std::pair(640.0, 0.0));
  CHECK(costs(2, 4, 2) == std::pair(256.0, 192.0));
  CHECK(costs(2, 2, 4) == std::pair(384.0, 64.0));
  CHECK(repartition_cost({8, 8}, {2, 4}, {4, 1}) == 320);
  CHECK(repartition_cost({8, 8}, {2, 4}, {2, 4}) == 0);
  CHECK(repartition_cost({0, 8}, {1, 4}, {1, 1}) == 0);
  CHECK(viable_parts({8, 8, 8}, 8).size() == 10);
  CHECK(viable_parts(std::vector<Index>(6, 1024), 1024).size() == 3003);
  // Extents limit the parts: 8 x 8 x 8 calls at most.
  CHECK(costs_of(square_product(), 4096).sites().front().viable == std::vector<PartitionVector>{{8, 8, 8}});
  CHECK(text_of(PartitionVector{2, 4, 1}, {"i", "k", "j"}) == "i:2 k:4 j:1");
}

TEST_CASE("plan/search: EinDecomp's matrix chain") {
  const auto least = [](const Region& region, Index p) {
    const EinsumCosts costs = costs_of(region, p);
    const PartsChoice choice = costs.cheapest();
    CHECK(choice.exact);
    SearchLimits no_tables;
    no_tables.table = 1;
    CHECK(solve(costs.network(), {}, costs.arcs(), no_tables).cost == choice.cost);
    CHECK(linearise(costs.network(), costs.arcs()).cost >= choice.cost);
    return choice.cost;
  };
  CHECK(least(chain(40, 40, 40), 4) == 22400);
  CHECK(least(chain(40, 4, 400), 4) == 22880);
  CHECK(least(chain(40, 4, 400), 7) == 22880);  // four of seven
  CHECK(least(chain(160, 160, 160), 2) == 281600);
  CHECK(least(chain(160, 16, 1600), 2) == 350720);
}

TEST_CASE("plan/search: EinDecomp's square grids") {
  // Every label cut sqrt(p) ways, including summed ones, so that nothing is repartitioned: 17 and 26.9 s^2 at p = 4.
  const auto square = [](const Region& region) {
    const EinsumCosts costs = costs_of(region, 4);
    double cost = 0;
    for (const EinsumSite& site : costs.sites()) cost += site.einsum.cost(EinsumCosts::square(site, 2));
    return cost;
  };
  CHECK(square(chain(40, 40, 40)) == 17 * 1600);
  CHECK(square(chain(40, 4, 400)) == doctest::Approx(26.9 * 1600).epsilon(1e-12));
}

TEST_CASE("plan/search: EinDecomp counts loops, and results with several readers") {
  // The vector of a carried tensor is repartitioned to its own next reader; a result of two readers makes a cycle.
  const EinsumCosts costs = costs_of(newton(2000, 32, 5), 4);
  const PartsChoice choice = costs.cheapest();
  CHECK_FALSE(choice.exact);
  CHECK(choice.parts.size() == costs.sites().size());
  CHECK(choice.cost == doctest::Approx(costs.network().cost([&] {
          Assignment values;
          for (std::size_t v = 0; v < choice.parts.size(); ++v) {
            const std::vector<PartitionVector>& viable = costs.sites()[v].viable;
            values.push_back(static_cast<int>(std::ranges::find(viable, choice.parts[v]) - viable.begin()));
          }
          return values;
        }())));
}
