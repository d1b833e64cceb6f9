#include "tests/unit/algebra/support.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

// The examples of the tensor relational algebra paper, section 2.1.

namespace {

/// Map, Filter or Tile as an equivalent flatMap; nothing for other operators.
std::optional<FlatMap> as_flat_map(const Expr& e) {
  if (e->operands.size() != 1) return std::nullopt;
  const RelationType& operand = e->operands[0]->type;
  const std::size_t arity = operand.keys.arity();
  if (const auto* map = as<Map>(e)) return FlatMap{1, {}, map->keys, {}, map->by};
  if (const auto* filter = as<Filter>(e)) return FlatMap{1, filter->where, KeyFunction::identity(arity), {}, {}};
  if (const auto* tile = as<Tile>(e)) {
    const Index count = operand.block[0][static_cast<std::size_t>(tile->dim)] / tile->size;
    return FlatMap{count, {}, KeyFunction::identity(arity + 1), FlatMap::Slice{tile->dim, tile->size}, {}};
  }
  return std::nullopt;
}

const std::vector<std::vector<double>> kA = {{1, 2, 5, 6}, {3, 4, 7, 8}, {9, 10, 13, 14}, {11, 12, 15, 16}};

Data data_of(const std::string& name, Tuples tuples) {
  Data data;
  data.inputs.emplace(name, std::move(tuples));
  return data;
}

Tuples value_of(const std::string& text, const Data& data) {
  Pool pool;
  const Expr e = parse_one(pool, text);
  CHECK(verify(e) == std::vector<std::string>{});
  return evaluate(e, data);
}

Block matrix(std::vector<double> elements, Index rows = 2) {
  const Index columns = static_cast<Index>(elements.size()) / rows;
  return {array_of({rows, columns}, std::move(elements))};
}

const std::string kInputA = "%0 = input \"A\" keys [2, 2] block [2, 2]\n";

}  // namespace

TEST_CASE("algebra: aggregation groups by the keys it keeps") {
  const Data data = data_of("A", blocks_of(kA, 2, 2));
  CHECK(value_of(kInputA + "%1 = aggregate %0 keep [1] by add result \"\" %1", data) ==
        Tuples{{{0}, matrix({10, 12, 14, 16})}, {{1}, matrix({18, 20, 22, 24})}});
  CHECK(value_of(kInputA + "%1 = aggregate %0 keep [] by add result \"\" %1", data) ==
        Tuples{{{}, matrix({28, 32, 36, 40})}});
}

TEST_CASE("algebra: a matrix product is a join and an aggregation") {
  const Data data = data_of("A", blocks_of(kA, 2, 2));
  const Tuples joined = value_of(kInputA + "%1 = join %0, %0 on [1], [0] by matmul result \"\" %1", data);
  CHECK(joined.size() == 8);
  CHECK(joined.find({0, 1, 0})->second == matrix({111, 122, 151, 166}));
  std::vector<std::vector<double>> square(4, std::vector<double>(4));
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t k = 0; k < 4; ++k) square[i][j] += kA[i][k] * kA[k][j];
    }
  }
  CHECK(value_of(kInputA + R"(%1 = join %0, %0 on [1], [0] by matmul
                              %2 = aggregate %1 keep [0, 2] by add
                              result "" %2)",
                 data) == blocks_of(square, 2, 2));
}

TEST_CASE("algebra: frontiers, and sizes that count the keys that are there") {
  Pool pool;
  const std::string inputs = "%0 = input \"A\" keys [2, 5] block [2, 2] %1 = input \"B\" keys [3, 4] block [2, 2]\n";
  const auto type = [&](const std::string& op) {
    return parse_one(pool, inputs + "%2 = " + op + " result \"\" %2")->type;
  };
  // A joined dimension has the shorter operand's extent; `on` gives the position in the right operand, not in the key.
  CHECK(type("join %0, %1 on [1], [0] by matmul").keys.frontier() == Key{2, 3, 4});
  CHECK(type("join %0, %1 on [1], [1] by matmul").keys.frontier() == Key{2, 4, 3});
  CHECK(type("join %0, %1 on [0, 1], [1, 0] by add").keys.frontier() == Key{2, 3});
  CHECK(type("aggregate %0 keep [1] by add").keys.frontier() == Key{5});
  const RelationType diagonal = type("filter %0 where k0 == k1");
  CHECK(diagonal.keys.frontier() == Key{2, 2});
  CHECK(diagonal.keys.count() == 2);
  CHECK(diagonal.floats() == 8);
  CHECK(type("filter %0 where k0 + 5 <= k1").floats() == 0);
  CHECK(type("rekey %1 [k0, 2*k1]").keys.frontier() == Key{3, 7});
  CHECK(type("rekey %1 [4*k0 + k1]").keys.full());
  CHECK(type("flatmap %0 count 3 where t <= k0 keys [t, k1, k0]").keys.frontier() == Key{2, 5, 2});
}

TEST_CASE("algebra: the diagonal by filter, rekey and map") {
  const Data data = data_of("A", blocks_of(kA, 2, 2));
  const auto diagonal = [](double a, double b) { return Block{array_of({2}, {a, b})}; };
  CHECK(value_of(kInputA + R"(%1 = filter %0 where k0 == k1
                              %2 = rekey %1 [k0]
                              %3 = map %2 by diag
                              result "" %3)",
                 data) == Tuples{{{0}, diagonal(1, 4)}, {{1}, diagonal(13, 16)}});
}

TEST_CASE("algebra: tile, rekey and concat") {
  Tuples b;
  b.emplace(Key{0}, matrix({1, 2, 5, 6, 3, 4, 7, 8}));
  b.emplace(Key{1}, matrix({9, 10, 13, 14, 11, 12, 15, 16}));
  const Data data = data_of("B", b);
  const std::string tiled = "%0 = input \"B\" keys [2] block [2, 4] %1 = tile %0 dim 1 size 2\n";
  CHECK(value_of(tiled + "result \"\" %1", data) == Tuples{{{0, 0}, matrix({1, 2, 3, 4})},
                                                           {{0, 1}, matrix({5, 6, 7, 8})},
                                                           {{1, 0}, matrix({9, 10, 11, 12})},
                                                           {{1, 1}, matrix({13, 14, 15, 16})}});
  CHECK(value_of(tiled + "%2 = rekey %1 [2*k0 + k1] result \"\" %2", data) == Tuples{{{0}, matrix({1, 2, 3, 4})},
                                                                                     {{1}, matrix({5, 6, 7, 8})},
                                                                                     {{2}, matrix({9, 10, 11, 12})},
                                                                                     {{3}, matrix({13, 14, 15, 16})}});
  CHECK(value_of(tiled + "%2 = concat %1 key 1 dim 1 result \"\" %2", data) == b);
  // Absent blocks are zero blocks.
  CHECK(value_of(tiled + "%2 = filter %1 where k0 == 1 - k1 %3 = concat %2 key 1 dim 1 result \"\" %3", data) ==
        Tuples{{{0}, matrix({0, 0, 5, 6, 0, 0, 7, 8})}, {{1}, matrix({9, 10, 0, 0, 11, 12, 0, 0})}});
}

TEST_CASE("algebra: flatMap gives copies, pieces, maps and filters") {
  const Data data = data_of("A", blocks_of(kA, 2, 2));
  // insertDim and duplicate of the replication-based product, section 4.2.2.
  const Tuples copies = value_of(kInputA + "%1 = flatmap %0 count 2 keys [k0, k1, t] result \"\" %1", data);
  CHECK(copies.size() == 8);
  for (const auto& [key, block] : copies) CHECK(block == data.inputs.at("A").find({key[0], key[1]})->second);
  CHECK(value_of(kInputA + "%1 = flatmap %0 count 2 where t <= k0 keys [k0, k1, t] result \"\" %1", data).size() == 6);

  Pool pool;
  for (const std::string op : {"map %0 by relu then scale(2)", "rekey %0 [k1, 2 - k0]", "filter %0 where k0 < k1",
                               "tile %0 dim 0 size 1", "map %0 rekey [k1, k0] by transpose"}) {
    CAPTURE(op);
    const Expr e = parse_one(pool, kInputA + "%1 = " + op + " result \"\" %1");
    const Expr general = pool.make(*as_flat_map(e), e->operands);
    CHECK(general != e);
    CHECK(evaluate(general, data) == evaluate(e, data));
    CHECK(general->type.keys == e->type.keys);
    CHECK(general->type.block == e->type.block);
  }
}

TEST_CASE("algebra: TensorPlanner's join and groupBy of whole keys are join, rekey and aggregate") {
  // reduceByKey(+, map(f, join(map(fa, X), map(fb, Y)))), section II: fa and fb move the joined index to the front.
  const Data data = data_of("A", blocks_of(kA, 2, 2));
  CHECK(value_of(kInputA + R"(%1 = rekey %0 [k1, k0]
                              %2 = join %1, %0 on [0], [0] by pair
                              %3 = map %2 rekey [k1, k2, k0] by matmul
                              %4 = aggregate %3 keep [0, 1] by add
                              result "" %4)",
                 data) == value_of(kInputA + R"(%1 = join %0, %0 on [1], [0] by matmul
                              %2 = aggregate %1 keep [0, 2] by add
                              result "" %2)",
                                   data));
}

TEST_CASE("algebra: n-ary contractions are pairs and one kernel") {
  // MTTKRP: M[i, f] = sum[j, k](X[i, j, k] A[j, f] B[k, f]).
  const std::string text = R"(
    %0 = input "X" keys [2, 2, 2] block [2, 1, 2]
    %1 = input "A" keys [2, 1] block [1, 3]
    %2 = input "B" keys [2, 1] block [2, 3]
    %3 = join %0, %1 on [1], [0] by pair
    %4 = join %3, %2 on [2, 3], [0, 1] by einsum("ijk,jf,kf->if")
    %5 = aggregate %4 keep [0, 3] by add
    result "" %5)";
  Pool pool;
  const Expr e = parse_one(pool, text);
  CHECK(e->type.keys.frontier() == Key{2, 1});
  const Data data = random_inputs(e, 3);
  const auto at = [&](const std::string& name, const Key& index, const Bounds& b) {
    Key key;
    Index offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      key.push_back(index[d] / b[d]);
      offset = offset * b[d] + index[d] % b[d];
    }
    return data.inputs.at(name).find(key)->second[0].elements[static_cast<std::size_t>(offset)];
  };
  const Tuples result = evaluate(e, data);
  for (Index i = 0; i < 4; ++i) {
    for (Index f = 0; f < 3; ++f) {
      double sum = 0;
      for (Index j = 0; j < 2; ++j) {
        for (Index k = 0; k < 4; ++k)
          sum += at("X", {i, j, k}, {2, 1, 2}) * at("A", {j, f}, {1, 3}) * at("B", {k, f}, {2, 3});
      }
      CHECK(result.find({i / 2, 0})->second[0].elements[static_cast<std::size_t>((i % 2) * 3 + f)] == sum);
    }
  }
}

TEST_CASE("algebra: data must fit their inputs") {
  Pool pool;
  const Expr e = parse_one(pool, kInputA + "result \"\" %0");
  CHECK_THROWS_WITH(static_cast<void>(evaluate(e, {})), "there is no data for the input `A`");
  Tuples less = blocks_of(kA, 2, 2);
  less.erase({1, 0});
  CHECK_THROWS_WITH(static_cast<void>(evaluate(e, data_of("A", less))),
                    "the data of the input `A` have other keys than its type");
}

}  // namespace tdsl::tests::relations
