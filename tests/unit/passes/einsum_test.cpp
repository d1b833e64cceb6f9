#include "passes/algebra/einsum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace tdsl;
using namespace tdsl::passes;

namespace {

/// `ij,jk,kl->il`, with a distinct extent per letter, in alphabetical order.
Einsum einsum(const std::string& text) {
  Einsum e;
  const std::size_t arrow = text.find("->");
  std::string letters = text.substr(arrow + 2);
  e.outs = letters.size();
  for (const char c : text.substr(0, arrow)) {
    if (c != ',' && letters.find(c) == std::string::npos) letters += c;
  }
  for (const char c : letters) e.labels.push_back({std::string(1, c), 0, ir::Extent::of({c - 'a'})});
  std::int32_t tensor = 100;
  e.factors.push_back({{tensor}, {}});
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      e.factors.push_back({{++tensor}, {}});
    } else {
      e.factors.back().labels.push_back(static_cast<std::int32_t>(letters.find(c)));
    }
  }
  return e;
}

}  // namespace

TEST_CASE("einsums: a chain is one in whatever order it is written") {
  std::vector<std::string> parts{"ab", "bc", "dc", "de"};
  std::sort(parts.begin(), parts.end());
  do {
    const auto chain = chain_of(einsum(parts[0] + "," + parts[1] + "," + parts[2] + "," + parts[3] + "->ae"));
    REQUIRE(chain.has_value());
    std::string sizes;
    for (const ir::Extent& e : chain->sizes) sizes += static_cast<char>('a' + e.as_value()->id);
    CHECK(sizes == "abcde");
    CHECK(chain->factors[2].transposed);
    CHECK_FALSE(chain->factors[3].transposed);
  } while (std::next_permutation(parts.begin(), parts.end()));
  CHECK(chain_of(einsum("ab,bc,c->a"))->factors.back().vector);
  for (const char* text : {"ab,bc,cd->da", "ab,bc,cd->ad", "a,ab,bc->c"}) CHECK(chain_of(einsum(text)).has_value());
  for (const char* text :
       {"ab,bc,cd->a", "ab,bc,bd->ad", "abc,cd,de->ae", "ab,bc,ca->a", "a,b,c->abc", "ab,bc,cd,de->ad"}) {
    CHECK_MESSAGE(!chain_of(einsum(text)).has_value(), text);
  }
}

TEST_CASE("einsums: what gains nothing by contracting two by two is computed as it is written") {
  for (const char* text : {"i,i,i->", "ij,ij,ij->i"}) CHECK_FALSE(gains_by_order(einsum(text)));
  // As one sum this has five loops; three are sufficient.
  for (const char* text : {"ab,bc,cd,da->", "ijk,jr,kr->ir", "ki,k,kj->ij"}) CHECK(gains_by_order(einsum(text)));
}
