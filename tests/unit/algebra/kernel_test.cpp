#include "tests/unit/algebra/support.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

namespace {

using Kind = Kernel::Kind;

Kernel kernel(Kind kind, double number = 0, int position = 0) {
  Kernel k;
  k.kind = kind;
  k.number = number;
  k.position = position;
  return k;
}

/// All kernels but calls, with one or two parameters, and suitable blocks.
struct Case {
  Kernel kernel;
  BlockType operands;
};
std::vector<Case> cases() {
  const Bounds square{3, 3};
  std::vector<Case> all;
  for (const Kind kind : {Kind::kRelu, Kind::kReluGrad, Kind::kSigmoid, Kind::kNeg, Kind::kTranspose, Kind::kDiag})
    all.push_back({kernel(kind), {square}});
  for (const double number : {-2.0, 0.0, 3.0}) {
    all.push_back({kernel(Kind::kScale, number), {square}});
    all.push_back({kernel(Kind::kShift, number), {square}});
  }
  all.push_back({kernel(Kind::kSum, 0, 0), {square}});
  all.push_back({kernel(Kind::kSum, 0, 1), {square}});
  for (const Kind kind : {Kind::kAdd, Kind::kSub, Kind::kMul, Kind::kMin, Kind::kMax, Kind::kMatmul, Kind::kMatmulTn,
                          Kind::kMatmulNt, Kind::kPair})
    all.push_back({kernel(kind), {square, square}});
  Kernel product = kernel(Kind::kEinsum);
  product.text = "ij,ij->i";
  all.push_back({product, {square, square}});
  all.push_back({kernel(Kind::kItem, 0, 1), {square, square}});
  all.push_back({kernel(Kind::kArgmin), {{3}, {3}}});
  all.push_back({kernel(Kind::kMinIndex), {{}, {}, {}, {}}});
  return all;
}

Block both(Block a, const Block& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

BlockType type_of(const Block& block) {
  BlockType type;
  for (const Array& array : block) type.push_back(array.bounds);
  return type;
}

}  // namespace

TEST_CASE("algebra kernels: results are of the inferred type") {
  std::mt19937_64 random(1);
  for (const Case& c : cases()) {
    CAPTURE(kernel_text(c.kernel));
    CHECK(type_of(apply(c.kernel, random_block(c.operands, random), {})) == result_of(c.kernel, c.operands));
  }
}

TEST_CASE("algebra kernels: the stated properties of zero blocks hold") {
  std::mt19937_64 random(2);
  for (const Case& c : cases()) {
    CAPTURE(kernel_text(c.kernel));
    const Block zero = zero_block(result_of(c.kernel, c.operands));
    CHECK((apply(c.kernel, zero_block(c.operands), {}) == zero) == keeps_zero(c.kernel));
    bool annihilates = c.operands.size() == 2 && c.kernel.kind != Kind::kArgmin;
    for (std::size_t k = 0; annihilates && k < 2; ++k) {
      Block operands = random_block(c.operands, random);
      operands[k] = zero_block({c.operands[k]})[0];
      annihilates = apply(c.kernel, operands, {}) == zero;
    }
    if (c.kernel.kind != Kind::kItem) CHECK(annihilates == zero_annihilates(c.kernel));
    if (zero_is_identity(c.kernel)) {
      const Block x = random_block({c.operands[0]}, random);
      CHECK(apply(c.kernel, both(x, zero_block(type_of(x))), {}) == x);
      CHECK(apply(c.kernel, both(zero_block(type_of(x)), x), {}) == x);
    }
  }
  CHECK_FALSE(zero_is_identity(kernel(Kind::kMax)));
}

TEST_CASE("algebra kernels: neither order nor grouping matters in aggregations") {
  std::mt19937_64 random(3);
  int aggregating = 0;
  for (const Case& c : cases()) {
    if (!aggregates(c.kernel)) continue;
    ++aggregating;
    CAPTURE(kernel_text(c.kernel));
    const BlockType half(c.operands.begin(), c.operands.begin() + static_cast<std::ptrdiff_t>(c.operands.size() / 2));
    for (int k = 0; k < 20; ++k) {
      const Block x = random_block(half, random);
      const Block y = random_block(half, random);
      const Block z = random_block(half, random);
      const auto op = [&](const Block& a, const Block& b) { return apply(c.kernel, both(a, b), {}); };
      CHECK(op(x, y) == op(y, x));
      CHECK(op(op(x, y), z) == op(x, op(y, z)));
    }
  }
  CHECK(aggregating == 5);
  CHECK_FALSE(aggregates(kernel(Kind::kSub)));
}

TEST_CASE("algebra kernels: pairs declared distributive are, and wrong pairs are not declared") {
  std::mt19937_64 random(4);
  int pairs = 0;
  for (const Case& f : cases()) {
    for (const Case& op : cases()) {
      const BlockType one{{3, 3}};
      if (!distributes(f.kernel, op.kernel) || f.operands != one) continue;
      ++pairs;
      CAPTURE(kernel_text(f.kernel));
      CAPTURE(kernel_text(op.kernel));
      for (int k = 0; k < 20; ++k) {
        const Block a = random_block(one, random);
        const Block b = random_block(one, random);
        CHECK(apply(f.kernel, apply(op.kernel, both(a, b), {}), {}) ==
              apply(op.kernel, both(apply(f.kernel, a, {}), apply(f.kernel, b, {})), {}));
      }
    }
  }
  CHECK(pairs == 38);
  const auto says = [](Kernel f, Kind op) { return distributes(f, kernel(op)); };
  CHECK(says(kernel(Kind::kDiag), Kind::kAdd));
  CHECK(says(kernel(Kind::kSum, 0, 1), Kind::kSub));
  CHECK(says(kernel(Kind::kTranspose), Kind::kMul));
  CHECK(says(kernel(Kind::kRelu), Kind::kMax));
  CHECK_FALSE(says(kernel(Kind::kRelu), Kind::kAdd));
  CHECK_FALSE(says(kernel(Kind::kScale, -1), Kind::kMax));
  CHECK_FALSE(says(kernel(Kind::kScale, 2), Kind::kMul));
  CHECK_FALSE(says(kernel(Kind::kSum, 0, 0), Kind::kMul));
  CHECK_FALSE(says(kernel(Kind::kTranspose), Kind::kMatmul));
}

TEST_CASE("algebra kernels: values") {
  const Block a{array_of({2, 2}, {1, -2, 3, 4})};
  const Block b{array_of({2, 2}, {5, 6, 7, 8})};
  CHECK(apply(kernel(Kind::kMatmul), both(a, b), {}) == Block{array_of({2, 2}, {-9, -10, 43, 50})});
  CHECK(apply(kernel(Kind::kMatmulTn), both(a, b), {}) == Block{array_of({2, 2}, {26, 30, 18, 20})});
  CHECK(apply(kernel(Kind::kMatmulNt), both(a, b), {}) == Block{array_of({2, 2}, {-7, -9, 39, 53})});
  // Extents of 1 are broadcast: a row against every row.
  CHECK(apply(kernel(Kind::kSub), {array_of({1, 2}, {1, 2}), a[0]}, {}) == Block{array_of({2, 2}, {0, 4, -2, -2})});
  // Ties are resolved to the smallest position.
  CHECK(apply(kernel(Kind::kArgmin), {array_of({3}, {2, 1, 1}), array_of({3}, {7, 8, 9})}, {}) ==
        Block{array_of({}, {1}), array_of({}, {8})});
  CHECK(apply(kernel(Kind::kMinIndex), {array_of({}, {1}), array_of({}, {8}), array_of({}, {1}), array_of({}, {3})},
              {}) == Block{array_of({}, {1}), array_of({}, {3})});
  // Aggregations of several arrays at once.
  CHECK(apply(kernel(Kind::kAdd), {array_of({}, {1}), array_of({}, {2}), array_of({}, {3}), array_of({}, {4})}, {}) ==
        Block{array_of({}, {4}), array_of({}, {6})});
  Kernel call = kernel(Kind::kCall);
  call.text = "twice";
  call.result = {{2, 2}};
  CHECK_THROWS_WITH(static_cast<void>(apply(call, a, {})), "nothing is known of the kernel `twice` but its name");
  const Calls calls{{"twice", [](const Block& x) { return apply(Kernel{Kind::kScale, 2, 0, "", {}}, x, {}); }}};
  CHECK(apply(call, a, calls) == Block{array_of({2, 2}, {2, -4, 6, 8})});
}

TEST_CASE("algebra kernels: a called kernel aggregates as well, in pieces too") {
  Pool pool;
  const Expr e = parse_one(pool, R"(%0 = input "A" keys [4, 3] block [2] part [0]
                                    %1 = local aggregate %0 keep [1] by call("larger", [2])
                                    %2 = shuf %1 part [0]
                                    %3 = local aggregate %2 keep [0] by call("larger", [2])
                                    result "" %3)");
  CHECK(verify(e) == std::vector<std::string>{});
  Data data = random_inputs(e, 3);
  data.calls.emplace("larger", [](const Block& x) { return apply(Kernel{Kind::kMax, 0, 0, "", {}}, x, {}); });
  const Expr max = parse_one(pool, R"(%0 = input "A" keys [4, 3] block [2]
                                      %1 = aggregate %0 keep [1] by max
                                      result "" %1)");
  CHECK(run_plan(e, data, {Mesh{{3}}}).value == evaluate(max, data));
  // The contents of absent blocks are unknown.
  CHECK(verify(parse_one(pool, R"(%0 = input "A" keys [4, 4] where k0 <= k1 block [2]
                                  %1 = aggregate %0 keep [1] by call("larger", [2])
                                  result "" %1)"))
            .size() == 1);
}

}  // namespace tdsl::tests::relations
