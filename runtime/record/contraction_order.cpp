#include "runtime/record/contraction_order.h"

#include <algorithm>
#include <array>
#include <bit>

#include "runtime/plan/space/index.h"

namespace tdsl::record {

namespace {

Contractions::Labels bits_of(const std::vector<int>& labels) {
  Contractions::Labels bits = 0;
  for (const int l : labels) bits |= Contractions::Labels{1} << l;
  return bits;
}

bool cheaper(const ContractionCost& a, const ContractionCost& b, Contractions::Least least) {
  const bool operations = least == Contractions::Least::kOperations;
  const std::pair x = operations ? std::pair(a.operations, a.elements) : std::pair(a.elements, a.operations);
  const std::pair y = operations ? std::pair(b.operations, b.elements) : std::pair(b.elements, b.operations);
  return x < y;
}

ContractionCost operator+(const ContractionCost& a, const ContractionCost& b) {
  return {a.operations + b.operations, a.elements + b.elements};
}

}  // namespace

Contractions::Contractions(const ProductLabels& labels)
    : sizes_(labels.sizes), result_((Labels{1} << labels.outs) - 1) {
  for (const std::vector<int>& factor : labels.factors) factors_.push_back(bits_of(factor));
  kept_.resize(Set{1} << factors());
  for (Set set = 1; set < kept_.size(); ++set) {
    Labels inside = 0, outside = result_;
    for (std::size_t k = 0; k < factors(); ++k) ((set >> k & 1) != 0 ? inside : outside) |= factors_[k];
    kept_[set] = inside & outside;
  }
}

double Contractions::points(Labels labels) const {
  double product = 1;
  for (std::size_t l = 0; l < sizes_.size(); ++l) product *= (labels >> l & 1) != 0 ? sizes_[l] : 1;
  return product;
}

bool Contractions::fits(Set a, Set b) const {
  return std::popcount(kept(a | b)) <= plan::kMaxRank && std::popcount(kept(a) | kept(b)) <= plan::kMaxDims;
}

ContractionCost Contractions::join(Set a, Set b) const {
  const Labels both = kept(a) | kept(b);
  const bool last = (a | b) == kept_.size() - 1;
  return {points(both) * (both == kept(a | b) ? 1 : 2), last ? 0 : points(kept(a | b))};
}

double Contractions::operations_as_one() const {
  return points((Labels{1} << sizes_.size()) - 1) * static_cast<double>(factors());
}

ContractionCost Contractions::cost(const ContractionPath& path) const {
  std::vector<Set> sets;
  ContractionCost sum;
  for (std::size_t k = 0; k < factors(); ++k) {
    sets.push_back(Set{1} << k);
    if (kept(sets[k]) != factors_[k]) sum = sum + ContractionCost{points(factors_[k]), points(kept(sets[k]))};
  }
  for (const auto& [a, b] : path) {
    sum = sum + join(sets[a], sets[b]);
    sets.push_back(sets[a] | sets[b]);
  }
  return sum;
}

ContractionPath Contractions::best(Least least) const {
  std::vector<Choice> choices(kept_.size());
  for (Set set = 1; set < kept_.size(); ++set) {
    if (std::has_single_bit(set)) {
      choices[set].possible = true;
      continue;
    }
    const Set lowest = set & (~set + 1);
    for (Set a = (set - 1) & set; a != 0; a = (a - 1) & set) {
      const Set b = set ^ a;
      if ((a & lowest) == 0 || !choices[a].possible || !choices[b].possible || !fits(a, b)) continue;
      const ContractionCost here = choices[a].cost + choices[b].cost + join(a, b);
      if (!choices[set].possible || cheaper(here, choices[set].cost, least)) choices[set] = {here, true, a};
    }
  }
  ContractionPath path;
  if (choices.back().possible) static_cast<void>(collect(kept_.size() - 1, choices, path));
  return path;
}

std::size_t Contractions::collect(Set set, const std::vector<Choice>& choices, ContractionPath& path) const {
  if (std::has_single_bit(set)) return static_cast<std::size_t>(std::countr_zero(set));
  const std::size_t a = collect(choices[set].part, choices, path);
  const std::size_t b = collect(set ^ choices[set].part, choices, path);
  path.emplace_back(a, b);
  return factors() + path.size() - 1;
}

std::vector<ContractionPath> Contractions::of_three() const {
  std::vector<ContractionPath> paths;
  for (const auto& [a, b, c] : {std::array<std::size_t, 3>{0, 1, 2}, {0, 2, 1}, {1, 2, 0}}) {
    const Set pair = Set{1} << a | Set{1} << b;
    if (!fits(Set{1} << a, Set{1} << b) || !fits(pair, Set{1} << c)) continue;
    paths.push_back(c == 0 ? ContractionPath{{a, b}, {0, 3}} : ContractionPath{{a, b}, {3, c}});
  }
  std::ranges::stable_sort(paths, [&](const ContractionPath& x, const ContractionPath& y) {
    return cheaper(cost(x), cost(y), Least::kOperations);
  });
  return paths;
}

namespace {

/// Calls f(a, b) for all pairs of disjoint sets in which `a` has the lowest factor of both.
template <class F>
void for_each_contraction(std::size_t n, const F& f) {
  for (Contractions::Set set = 1; set < Contractions::Set{1} << n; ++set) {
    const Contractions::Set lowest = set & (~set + 1);
    for (Contractions::Set a = (set - 1) & set; a != 0; a = (a - 1) & set) {
      if ((a & lowest) != 0) f(a, set ^ a);
    }
  }
}

}  // namespace

int contraction_number(std::size_t n, Contractions::Set a, Contractions::Set b) {
  int number = 0, found = -1;
  for_each_contraction(n, [&](Contractions::Set x, Contractions::Set y) {
    if (x == a && y == b) found = number;
    ++number;
  });
  return found;
}

int contraction_count(std::size_t n) {
  int count = 0;
  for_each_contraction(n, [&](Contractions::Set, Contractions::Set) { ++count; });
  return count;
}

}  // namespace tdsl::record
