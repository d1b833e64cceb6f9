#include "tests/unit/algebra/support.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

namespace {

// One of each construct, as printed.
const std::string kProgram = R"(%0 = input "A \"x\"" keys [2, 4] where k0 <= k1 block [4, 4] part [0, 1] ; 112 floats
%1 = local filter %0 where 2*k1 != k0 + 1 and k1 < 3 ; keys [2, 3] (4 of them) block [4, 4] part [0, 1]
%2 = local map %1 by relu then scale(-0.5) then sum(1) ; keys [2, 3] (4 of them) block [4] part [0, 1]
%3 = local rekey %1 [k1, 2*k0 + k1/2 + k1 mod 2] ; keys [3, 4] (4 of them) block [4, 4] loose
%4 = shuf %3 part [] ; keys [3, 4] (4 of them) block [4, 4] part []
%5 = local map %1 rekey [k1, k0] by transpose ; keys [3, 2] (4 of them) block [4, 4] part [1, 0]
%6 = bcast %5 ; keys [3, 2] (4 of them) block [4, 4] all
%7 = local join %4, %6 on [0], [0] by pair then item(1) rekey [k0, k2, k1] ; keys [3, 2, 4] (6 of them, the )"
                             R"(rest unknown) block [4, 4] part []
%8 = local aggregate %7 keep [1] by add then call("norm of", [2], []) ; keys [2] block [2] [] part []
%9 = local tile %4 dim 1 size 2 ; keys [3, 4, 2] (8 of them) block [4, 2] part []
%10 = local concat %9 key 2 dim 1 ; keys [3, 4] (4 of them) block [4, 4] part []
%11 = local flatmap %10 count 2 where t <= k0 keys [k0, k1, t] slice 1 size 2 by neg ; keys [3, 4, 2] (7 of )"
                             R"(them) block [4, 2] part []
result "A" %2
result "" %8
result "C" %11
)";

const std::string kOnAMesh = R"(%0 = input "X" keys [4, 4, 2] block [2, 2, 2] mesh abc part [0:ca] loose b ; 256 floats
%1 = shuf %0 mesh abc part [2, 0:a] part [1:b] ; keys [4, 4, 2] block [2, 2, 2] mesh abc part [2, 0:a] part [1:b]
%2 = bcast %1 ; keys [4, 4, 2] block [2, 2, 2] mesh abc
%3 = local aggregate %1 keep [0, 2] by max ; keys [4, 2] block [2, 2, 2] mesh abc part [1, 0:a] loose b, in up )"
                             R"(to 4 pieces by max
result "" %2
result "" %3
)";

}  // namespace

TEST_CASE("algebra text: parsed programs print unchanged") {
  for (const std::string& text : {kProgram, kOnAMesh}) {
    Pool pool;
    const Program program = parse(pool, text);
    CHECK(print(program) == text);
    CHECK(parse(pool, print(program)).results == program.results);
  }
}

TEST_CASE("algebra text: equal expressions are one node, however they are written") {
  Pool pool;
  const std::string a = "%0 = input \"A\" keys [2, 2] block [2, 2]\n";
  const auto same = [&](const std::string& x, const std::string& y) {
    return parse_one(pool, a + "%1 = " + x + " result \"\" %1") == parse_one(pool, a + "%1 = " + y + " result \"\" %1");
  };
  CHECK(same("filter %0 where k0 == k1", "filter %0 where k1 == k0"));
  CHECK(same("filter %0 where k0 < 1 and k1 >= 1", "filter %0 where 1 <= k1 and 1 > k0 and k0 < 1"));
  CHECK(same("filter %0 where k0 - 1 == k1", "filter %0 where k0 == k1 + 1"));
  CHECK(same("rekey %0 [k0 + k0, k1]", "rekey %0 [2*k0 , k1] ; a comment\n"));
  CHECK(same("map %0 by scale(2.0)", "map %0 by scale(2)"));
  CHECK_FALSE(same("filter %0 where k0 < k1", "filter %0 where k0 <= k1"));
  CHECK_FALSE(same("filter %0 where k0 < k1", "filter %0 where k1 < k0"));
  CHECK_FALSE(same("map %0 by scale(2)", "map %0 by shift(2)"));
  CHECK_FALSE(same("map %0 by sum(0)", "map %0 by sum(1)"));
}

TEST_CASE("algebra text: a key function that is not linear keeps its meaning") {
  Pool pool;
  const Expr e = parse_one(pool, "%0 = input \"A\" keys [7] block [] %1 = rekey %0 [k0/3, k0 mod 3] result \"\" %1");
  CHECK(e->type.keys.frontier() == Key{3, 3});
  CHECK(e->type.keys.count() == 7);
  CHECK(parse_one(pool, print(e)) == e);
}

}  // namespace tdsl::tests::relations
