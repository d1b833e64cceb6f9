#include "runtime/record/contraction_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

using namespace tdsl;
using namespace tdsl::record;

namespace {

/// `ij,jk,kl->il` with sizes from 2 to 1024.
ProductLabels product_of(const std::string& text, std::mt19937_64& random) {
  ProductLabels labels;
  const std::size_t arrow = text.find("->");
  std::string letters = text.substr(arrow + 2);
  labels.outs = letters.size();
  labels.factors.emplace_back();
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      labels.factors.emplace_back();
      continue;
    }
    if (letters.find(c) == std::string::npos) letters += c;
    labels.factors.back().push_back(static_cast<int>(letters.find(c)));
  }
  for (std::size_t l = 0; l < letters.size(); ++l)
    labels.sizes.push_back(static_cast<double>(std::uint64_t{2} << random() % 10));
  return labels;
}

/// Straight from the definition, with operands as sets of labels.
struct AllOrders {
  const ProductLabels& labels;
  std::vector<ContractionCost> costs{};

  double points(const std::set<int>& of) const {
    double product = 1;
    for (const int l : of) product *= labels.sizes[static_cast<std::size_t>(l)];
    return product;
  }
  std::set<int> kept(const std::set<int>& of, const std::vector<std::set<int>>& others) const {
    std::set<int> left;
    for (const int l : of) {
      const bool result = l < static_cast<int>(labels.outs);
      if (result || std::ranges::any_of(others, [l](const std::set<int>& o) { return o.contains(l); })) left.insert(l);
    }
    return left;
  }
  void run() {
    std::vector<std::set<int>> operands;
    for (const std::vector<int>& f : labels.factors) operands.emplace_back(f.begin(), f.end());
    ContractionCost cost;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      std::vector<std::set<int>> others = operands;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      const std::set<int> left = kept(operands[k], others);
      if (left == operands[k]) continue;
      cost.operations += points(operands[k]);
      cost.elements += points(left);
      operands[k] = left;
    }
    go_on(operands, cost);
  }
  void go_on(const std::vector<std::set<int>>& operands, ContractionCost cost) {
    if (operands.size() == 1) {
      costs.push_back(cost);
      return;
    }
    for (std::size_t x = 0; x < operands.size(); ++x) {
      for (std::size_t y = x + 1; y < operands.size(); ++y) {
        std::vector<std::set<int>> rest;
        for (std::size_t k = 0; k < operands.size(); ++k) {
          if (k != x && k != y) rest.push_back(operands[k]);
        }
        std::set<int> both = operands[x];
        both.insert(operands[y].begin(), operands[y].end());
        const std::set<int> left = kept(both, rest);
        ContractionCost next = cost;
        next.operations += points(both) * (left == both ? 1 : 2);
        next.elements += rest.empty() ? 0 : points(left);
        rest.push_back(left);
        go_on(rest, next);
      }
    }
  }
};

}  // namespace

TEST_CASE("contraction orders: the best one is the best of all") {
  std::mt19937_64 random(3);
  for (const char* text : {"ijk,jr,kr->ir", "i,ij,j->", "ki,k,kj->ij", "ijk,jl,kl->il", "abcd,bi,ci,di->ai",
                           "ab,bc,ca,ad->d", "ijk,ia,jb,kc->abc", "ab,bcd,ce,df,efg->ag", "abx,bc,cdy->ad"}) {
    for (int round = 0; round < 20; ++round) {
      const ProductLabels labels = product_of(text, random);
      const Contractions contractions(labels);
      AllOrders all{labels};
      all.run();
      ContractionCost fewest = all.costs[0], smallest = all.costs[0];
      for (const ContractionCost& c : all.costs) {
        if (std::pair(c.operations, c.elements) < std::pair(fewest.operations, fewest.elements)) fewest = c;
        if (std::pair(c.elements, c.operations) < std::pair(smallest.elements, smallest.operations)) smallest = c;
      }
      CHECK_MESSAGE(contractions.cost(contractions.best(Contractions::Least::kOperations)) == fewest, text);
      CHECK_MESSAGE(contractions.cost(contractions.best(Contractions::Least::kElements)) == smallest, text);
      if (labels.factors.size() != 3) continue;
      CHECK(contractions.of_three().size() == 3);
      CHECK(contractions.cost(contractions.of_three().front()) == fewest);
    }
  }
}

TEST_CASE("contraction orders: no intermediate result has more dimensions than a tensor has") {
  std::mt19937_64 random(5);
  const ProductLabels labels = product_of("abcdi,efghi,abcdefghi->i", random);
  const Contractions contractions(labels);
  // The first two together would have nine dimensions.
  CHECK(contractions.of_three().size() == 2);
  CHECK(contractions.best(Contractions::Least::kOperations).front() != std::pair<std::size_t, std::size_t>{0, 1});
}

TEST_CASE("contraction orders: every contraction has a number of its own") {
  CHECK(contraction_count(3) == 6);
  std::set<int> numbers;
  for (Contractions::Set a = 1; a < 16; ++a) {
    for (Contractions::Set b = 1; b < 16; ++b) {
      const bool first = (a & b) == 0 && (a & (~a + 1)) < (b & (~b + 1));
      if (first) numbers.insert(contraction_number(4, a, b));
    }
  }
  CHECK(numbers.size() == 25);
  CHECK(contraction_count(4) == 25);
  CHECK(*numbers.begin() == 0);
  CHECK(*numbers.rbegin() == 24);
}
