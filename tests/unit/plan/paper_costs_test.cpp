#include <doctest/doctest.h>

#include <map>
#include <string>

#include "runtime/plan/schedules/paper_costs.h"
#include "tests/unit/plan/target_regions.h"

using namespace tdsl::plan;
using tdsl::tests::bytes_only;
using tdsl::tests::RegionWriter;

TEST_CASE("paper costs: TRA's table 4 on ten sites") {
  const auto costs = [](double rows, double inner, double columns, double broadcast, double cross, double replication) {
    const TraCosts tra = tra_costs({rows, inner, columns, 1}, 10);
    CHECK(tra.broadcast == broadcast);
    CHECK(tra.cross_product == cross);
    CHECK(tra.replication == replication);
  };
  costs(4e4, 4e4, 4e4, 1.6e10, 1.6e10, 1.6e10);
  costs(1e4, 6.4e5, 1e4, 6.4e10, 1.0e9, 6.4e10);
  costs(8e4, 1e4, 8e4, 8.0e9, 6.4e10, 8.0e9);
}

TEST_CASE("paper costs: NumS's bounds") {
  // Tall and skinny X'Y on 16 nodes: a tree of four levels; X Y' on 4 x 4 nodes; a square product.
  CHECK(nums_bound({100, 1e6, 100, 1}, 16, 1) == 4 * 100 * 100);
  CHECK(nums_bound({1e4, 100, 1e4, 1}, 16, 1) == 2 * 3 * 1e6 / 4);
  CHECK(nums_bound({1000, 1000, 1000, 1}, 16, 2) == doctest::Approx((15.0 / 4 + 2) * 2 * 1e6 / 32));
}

TEST_CASE("paper costs: bounds of received elements") {
  CHECK(received_bound({1e6, 10, 10, 1}, 4, 0) == doctest::Approx(75));            // one dimension is cut
  CHECK(received_bound({1000, 10, 1000, 1}, 4, 0) == doctest::Approx(5000));       // two
  CHECK(received_bound({1000, 1000, 1000, 1}, 64, 0) == doctest::Approx(140625));  // three
  CHECK(received_bound({1000, 1000, 1000, 1}, 64, 1e9) == doctest::Approx(140625));
  CHECK(received_bound({1000, 1000, 1000, 1}, 4, 1e3) == doctest::Approx(2794085).epsilon(1e-6));
  CHECK(received_bound({1000, 1000, 1000, 1}, 1, 0) == 0);
  CHECK(received_bound({1000, 0, 1000, 1}, 4, 1e3) == 0);
}

TEST_CASE("paper costs: names of products") {
  CHECK(product_name({2, 1, 2, 1}) == "SUMMA");
  CHECK(product_name({2, 2, 4, 1}) == "2.5-D, c = 2");
  CHECK(product_name({2, 2, 2, 1}) == "3-D");
  CHECK(product_name({1, 4, 1, 1}) == "cross-product");
  CHECK(product_name({4, 1, 1, 1}) == "1-D by rows");
  CHECK(product_name({1, 1, 4, 1}) == "1-D by columns");
  CHECK(product_name({1, 2, 2, 1}) == "2-D, inner and columns");
  CHECK(product_name({1, 1, 1, 4}) == "by batch");
  CHECK(product_name({1, 1, 1, 1}) == "on one rank");
}

TEST_CASE("paper costs: two products of a plan are Megatron's") {
  RegionWriter r({{'i', 64}, {'m', 64}, {'j', 64}, {'o', 64}});
  const TensorId X = r.load("X", "im"), V1 = r.load("V1", "mj"), V2 = r.load("V2", "jo");
  const TensorId Z = r.op("Z", "ij", {{X, "im"}, {V1, "mj"}});
  const TensorId H = r.op("H", "ij", {{Z, "ij"}});
  const Region region = r.finish({r.op("P", "io", {{H, "ij"}, {V2, "jo"}})});
  const EinsumCosts costs(region, bytes_only(4, 1.2), 4);
  REQUIRE(costs.sites().size() == 3);
  const auto names = [&](const std::string& decisions) {
    return product_names(
        region, costs,
        parse_plan("tdsl plan 1\nprogram \"n\" region 0 ranks 4 schedule none\nmesh a:4/1\n" + decisions));
  };
  using Names = std::map<int, std::string>;
  CHECK(names("4 reduce \"Z\" j:a\n5 map \"H\" j:a\n6 reduce \"P\" j:a -> home 0\n") ==
        Names{{4, "Megatron"}, {6, "Megatron"}});
  CHECK(names("4 reduce \"Z\" cyclic 2x2 on 2x2\n5 map \"H\" j:a\n6 reduce \"P\" j:a -> home 0\n") ==
        Names{{4, "SUMMA"}, {6, "cross-product"}});
  CHECK(names("4 reduce \"Z\" i:a\n") == Names{{4, "1-D by rows"}});
}
