#include "passes/einsum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace tdsl;
using namespace tdsl::passes;

namespace {

/// `ij,jk,kl->il` with an extent per letter: a value of its own, in order of the letters.
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

using Sizes = std::map<char, double>;

/// Operations of contracting along the path, or of the sum as one, by the definition.
double cost(const Einsum& e, const ContractionPath& path, const Sizes& sizes) {
  std::vector<std::set<char>> operands;
  for (const Einsum::Factor& f : e.factors) {
    operands.emplace_back();
    for (const std::int32_t l : f.labels) operands.back().insert(e.labels[static_cast<std::size_t>(l)].name[0]);
  }
  std::vector<bool> open(operands.size(), true);
  double sum = 0;
  for (const auto& [a, b] : path) {
    std::set<char> both = operands[a];
    both.insert(operands[b].begin(), operands[b].end());
    open[a] = open[b] = false;
    std::set<char> kept;
    for (const char c : both) {
      bool wanted = false;
      for (std::size_t l = 0; l < e.outs; ++l) wanted = wanted || e.labels[l].name[0] == c;
      for (std::size_t k = 0; k < open.size(); ++k) wanted = wanted || (open[k] && operands[k].contains(c));
      if (wanted) kept.insert(c);
    }
    double points = 1;
    for (const char c : both) points *= sizes.at(c);
    sum += points * (kept == both ? 1 : 2);
    operands.push_back(kept);
    open.push_back(true);
  }
  return sum;
}

double as_one(const Einsum& e, const Sizes& sizes) {
  double points = static_cast<double>(e.factors.size());
  for (const ir::Label& l : e.labels) points *= sizes.at(l.name[0]);
  return points;
}

/// Of all paths.
double least(const Einsum& e, const Sizes& sizes, ContractionPath& path, std::vector<bool> open) {
  std::vector<std::size_t> left;
  for (std::size_t k = 0; k < open.size(); ++k) {
    if (open[k]) left.push_back(k);
  }
  if (left.size() == 1) return cost(e, path, sizes);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t x = 0; x < left.size(); ++x) {
    for (std::size_t y = x + 1; y < left.size(); ++y) {
      path.emplace_back(left[x], left[y]);
      std::vector<bool> next = open;
      next[left[x]] = next[left[y]] = false;
      next.push_back(true);
      best = std::min(best, least(e, sizes, path, next));
      path.pop_back();
    }
  }
  return best;
}

double chosen(const Einsum& e, const Sizes& sizes) {
  const PathChoice choice = paths_of(e);
  double best = choice.as_one ? as_one(e, sizes) : std::numeric_limits<double>::infinity();
  for (const ContractionPath& path : choice.paths) best = std::min(best, cost(e, path, sizes));
  return best;
}

double best(const Einsum& e, const Sizes& sizes) {
  ContractionPath path;
  return std::min(as_one(e, sizes), least(e, sizes, path, std::vector<bool>(e.factors.size(), true)));
}

Sizes random_sizes(std::mt19937_64& random) {
  Sizes sizes;
  for (char c = 'a'; c <= 'z'; ++c) sizes[c] = static_cast<double>(std::uint64_t{2} << random() % 10);
  return sizes;
}

}  // namespace

TEST_CASE("einsums: among the forms is the best order, whatever the sizes") {
  std::mt19937_64 random(3);
  for (const char* text : {"ijk,jr,kr->ir", "i,ij,j->", "ki,k,kj->ij", "ijk,jl,kl->il", "abc,cd,de->abe", "ij,jk,ki->"}) {
    const Einsum e = einsum(text);
    for (int round = 0; round < 50; ++round) {
      const Sizes sizes = random_sizes(random);
      CHECK(chosen(e, sizes) == best(e, sizes));
    }
  }
}

TEST_CASE("einsums: of more than three factors some form is near the best order") {
  std::mt19937_64 random(4);
  // How much more than the best order the best form takes, on average over sizes from 2 to 1024.
  for (const auto& [text, bound] : std::map<std::string, double>{{"abcd,bi,ci,di->ai", 1.01}, {"ab,bc,ca,ad->d", 1.01}, {"ijk,ia,jb,kc->abc", 2}, {"ab,bcd,ce,df,efg->ag", 2.5}}) {
    const Einsum e = einsum(text);
    double sum = 0;
    for (int round = 0; round < 40; ++round) {
      const Sizes sizes = random_sizes(random);
      sum += chosen(e, sizes) / best(e, sizes) / 40;
    }
    CHECK_MESSAGE(sum < bound, text);
  }
}

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
  for (const char* text : {"ab,bc,cd->a", "ab,bc,bd->ad", "abc,cd,de->ae", "ab,bc,ca->a", "a,b,c->abc", "ab,bc,cd,de->ad"}) {
    CHECK_MESSAGE(!chain_of(einsum(text)).has_value(), text);
  }
}

TEST_CASE("einsums: what gains nothing by contracting two by two has no path") {
  CHECK(paths_of(einsum("i,i,i->")).paths.empty());
  CHECK(paths_of(einsum("ij,ij,ij->i")).paths.empty());
  // The sum as one has five loops here; three are enough.
  CHECK_FALSE(paths_of(einsum("ab,bc,cd,da->")).paths.empty());
}
