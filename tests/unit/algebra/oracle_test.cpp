#include <fmt/format.h>

#include <algorithm>

#include "ir/algebra/rules/reachable.h"
#include "tests/unit/algebra/support.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

// The predicted costs of the tensor relational algebra paper, Tables 4 and 6. The plans are also executed at small
// sizes, and must agree with the expressions.

namespace {

struct Product {
  Index i, k, j;     ///< extents of A[i, k] B[k, j]
  Index fi, fk, fj;  ///< number of blocks along each
};

std::string inputs(const Product& p, std::string_view a_layout, std::string_view b_layout) {
  return fmt::format(
      "%0 = input \"A\" keys [{}, {}] block [{}, {}] {}\n"
      "%1 = input \"B\" keys [{}, {}] block [{}, {}] {}\n",
      p.fi, p.fk, p.i / p.fi, p.k / p.fk, a_layout, p.fk, p.fj, p.k / p.fk, p.j / p.fj, b_layout);
}

std::string broadcast_plan(const Product& p) {
  return inputs(p, "part [0]", "part [0]") + R"(
    %2 = bcast %1
    %3 = local join %0, %2 on [1], [0] by matmul
    %4 = local aggregate %3 keep [0, 2] by add
    result "C" %4)";
}
/// As printed: broadcasts the left operand and shuffles the product.
std::string printed_broadcast_plan(const Product& p) {
  return inputs(p, "part [0]", "part [0]") + R"(
    %2 = bcast %0
    %3 = local join %2, %1 on [1], [0] by matmul
    %4 = shuf %3 part [0, 2]
    %5 = local aggregate %4 keep [0, 2] by add
    result "C" %5)";
}
std::string cross_product_plan(const Product& p) {
  return inputs(p, "part [1]", "part [0]") + R"(
    %2 = local join %0, %1 on [1], [0] by matmul
    %3 = shuf %2 part [0, 2]
    %4 = local aggregate %3 keep [0, 2] by add
    result "C" %4)";
}
std::string replication_plan(const Product& p) {
  return inputs(p, "part [0]", "part [0]") + fmt::format(R"(
    %2 = local flatmap %0 count {} keys [k0, k1, t]
    %3 = shuf %2 part [0, 2]
    %4 = local flatmap %1 count {} keys [t, k0, k1]
    %5 = shuf %4 part [0, 2]
    %6 = local join %3, %5 on [0, 1, 2], [0, 1, 2] by matmul
    %7 = local aggregate %6 keep [0, 2] by add
    result "C" %7)",
                                                         p.fj, p.fi);
}

}  // namespace

TEST_CASE("algebra oracle: Table 4, matrix products on 10 sites") {
  struct Row {
    Index i, k, j, broadcast, cross_product, replication, printed_broadcast;
  };
  const std::vector<Row> table = {
      {40'000, 40'000, 40'000, 16'000'000'000, 16'000'000'000, 16'000'000'000, 32'000'000'000},
      {10'000, 640'000, 10'000, 64'000'000'000, 1'000'000'000, 64'000'000'000, 65'000'000'000},
      {80'000, 10'000, 80'000, 8'000'000'000, 64'000'000'000, 8'000'000'000, 72'000'000'000}};
  for (const Row& row : table) {
    CAPTURE(row.i);
    const Product tens{row.i, row.k, row.j, 10, 10, 10};
    CHECK(program_cost(broadcast_plan(tens), 10) == row.broadcast);
    CHECK(program_cost(printed_broadcast_plan(tens), 10) == row.printed_broadcast);
    CHECK(program_cost(cross_product_plan(tens), 10) == row.cross_product);
    for (const Index fi : {2, 5, 8})
      CHECK(program_cost(replication_plan({row.i, row.k, row.j, fi, 10, 10 - fi}), 10) == row.replication);
  }
}

TEST_CASE("algebra oracle: the plans of Table 4 compute the product") {
  const Product small{6, 8, 4, 3, 4, 2};
  for (const auto& plan : {broadcast_plan, printed_broadcast_plan, cross_product_plan, replication_plan}) {
    for (const Index sites : {1, 2, 3, 5}) run_program(plan(small), sites);
  }
}

TEST_CASE("algebra oracle: the rules turn the compiled product into the plans of Table 4") {
  Pool pool;
  const auto cheapest_product = [&](const Product& p, const std::string& a, const std::string& b) {
    const Expr product = parse_one(pool, inputs(p, "", "") + R"(
      %2 = join %0, %1 on [1], [0] by matmul
      %3 = aggregate %2 keep [0, 2] by add
      result "C" %3)");
    const Layout part_a =
        *parse_one(pool, "%0 = input \"\" keys [1, 1] block [] " + a + " result \"\" %0")->type.layout;
    const Layout part_b =
        *parse_one(pool, "%0 = input \"\" keys [1, 1] block [] " + b + " result \"\" %0")->type.layout;
    const Expr first = compile(pool, product, [&](const Input& input) { return input.name == "A" ? part_a : part_b; });
    CHECK(paper_cost(first, 10) == 10 * p.i * p.k + p.fk * p.i * p.j);
    const Cheapest best = cheapest(pool, first, 10);
    CHECK(best.complete);
    CHECK(verify(best.plan) == std::vector<std::string>{});
    return best;
  };
  // Broadcasts B; R2-4 removes the shuffle.
  const Product wide{80'000, 10'000, 80'000, 10, 10, 10};
  const Cheapest broadcast = cheapest_product(wide, "part [0]", "part [0]");
  CHECK(broadcast.cost == 8'000'000'000);
  CHECK(broadcast.plan == parse_one(pool, broadcast_plan(wide)));
  // A's columns are already co-located with B's rows.
  const Product deep{10'000, 640'000, 10'000, 10, 20, 10};
  const Cheapest cross = cheapest_product(deep, "part [1]", "part [0]");
  CHECK(cross.cost == 1'000'000'000);
  CHECK(std::ranges::count(cross.steps, "R2-5", &RuleStep::rule) ==
        1);  // 10 partial products of a site's two columns, not 20
}

namespace {

/// Nearest neighbour: x is a single row; keys (query, feature) and (row, feature); `R` numbers the rows.
std::string neighbour_inputs(Index n, Index d, Index blocks, std::string_view x_layout) {
  return fmt::format(R"(
    %0 = input "x" keys [1, {2}] block [1, {1}] part [0]
    %1 = input "X" keys [{2}, {2}] block [{0}, {1}] {3}
    %2 = input "A" keys [{2}, {2}] block [{1}, {1}] part [0]
    %3 = input "R" keys [{2}] block [{0}] part [0]
    %4 = bcast %0
    %5 = local join %4, %1 on [1], [1] by sub
    %6 = local rekey %5 [k2, k1]
    )",
                     n / blocks, d / blocks, blocks, x_layout);
}
std::string horizontal(Index n, Index d, Index blocks, bool with_minimum) {
  return neighbour_inputs(n, d, blocks, "part [0]") + R"(
    %7 = bcast %2
    %8 = local join %6, %7 on [1], [0] by matmul
    %9 = local aggregate %8 keep [0, 2] by add
    %10 = local join %9, %6 on [0, 1], [0, 1] by mul
    %11 = local aggregate %10 keep [0] by add
    %12 = local map %11 by sum(1)
    )" +
         (with_minimum ? R"(
    %13 = local join %12, %3 on [0], [0] by pair
    %14 = local map %13 by argmin
    %15 = local aggregate %14 keep [] by minindex
    %16 = shuf %15 part []
    %17 = local aggregate %16 keep [] by minindex
    result "nearest" %17)"
                       : "result \"distances\" %12");
}
/// With the row sums below or above the aggregation.
std::string vertical(Index n, Index d, Index blocks, bool sums_below) {
  return neighbour_inputs(n, d, blocks, "part [1]") + R"(
    %7 = local join %6, %2 on [1], [0] by matmul
    %8 = local aggregate %7 keep [0, 2] by add
    %9 = shuf %8 part [1]
    %10 = local aggregate %9 keep [0, 1] by add
    %11 = local join %10, %6 on [0, 1], [0, 1] by mul
    )" +
         (sums_below ? R"(
    %12 = local map %11 by sum(1)
    %13 = local aggregate %12 keep [0] by add
    %14 = shuf %13 part [0]
    %15 = local aggregate %14 keep [0] by add
    result "distances" %15)"
                     : R"(
    %12 = shuf %11 part [0]
    %13 = local aggregate %12 keep [0] by add then sum(1)
    result "distances" %13)");
}

}  // namespace

TEST_CASE("algebra oracle: Table 6, nearest neighbour on 8 sites") {
  struct Column {
    Index n, d, horizontal, vertical;
  };
  for (const Column& c :
       {Column{1'500'000, 6'000, 288'048'000, 72'012'048'000}, Column{6'000, 100'000, 80'000'800'000, 4'800'848'000}}) {
    CAPTURE(c.n);
    CHECK(program_cost(horizontal(c.n, c.d, 8, false), 8) == c.horizontal);
    CHECK(program_cost(horizontal(c.n, c.d, 8, true), 8) == c.horizontal + 2 * 8);
    CHECK(program_cost(vertical(c.n, c.d, 8, true), 8) == c.vertical);
    CHECK(program_cost(vertical(c.n, c.d, 8, false), 8) == 8 * c.d + 9 * c.n * c.d);
  }
}

TEST_CASE("algebra oracle: the nearest neighbour is found, and its plans agree") {
  for (const Index sites : {1, 2, 3}) {
    run_program(horizontal(6, 6, 3, true), sites);
    run_program(horizontal(6, 6, 3, false), sites);
    run_program(vertical(6, 6, 3, true), sites);
    run_program(vertical(6, 6, 3, false), sites);
  }
  // Three points on a line, identity metric: (5 - 4)^2 is the least distance.
  Pool pool;
  const Expr nearest = parse_one(pool, horizontal(3, 1, 1, true));
  Data data;
  data.inputs["x"].emplace(Key{0, 0}, Block{array_of({1, 1}, {5})});
  data.inputs["X"].emplace(Key{0, 0}, Block{array_of({3, 1}, {1, 4, 8})});
  data.inputs["A"].emplace(Key{0, 0}, Block{array_of({1, 1}, {1})});
  data.inputs["R"].emplace(Key{0}, Block{array_of({3}, {0, 1, 2})});
  CHECK(run_plan(nearest, data, {Mesh{{2}}}).value == Tuples{{{}, {array_of({}, {1}), array_of({}, {1})}}});
  CHECK(evaluate(parse_one(pool, vertical(3, 1, 1, true)), data) == Tuples{{{0}, {array_of({3}, {16, 1, 9})}}});
}

}  // namespace tdsl::tests::relations
