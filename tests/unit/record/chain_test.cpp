#include "runtime/record/chain.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "runtime/plan/region/region.h"
#include "runtime/record/survey.h"

using namespace tdsl;
using namespace tdsl::record;

namespace {

/// Multiplications of the best order, by exhaustive search.
double fewest(const std::vector<Index>& sizes, std::size_t first, std::size_t last) {
  if (first == last) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = first; k < last; ++k) {
    best = std::min(best, fewest(sizes, first, k) + fewest(sizes, k + 1, last) +
                              static_cast<double>(sizes[first] * sizes[k + 1] * sizes[last + 1]));
  }
  return best;
}

/// Records a chain of matrices; every second one is transposed, the last one a vector if it has one column.
plan::Region recorded(const std::vector<Index>& sizes) {
  return survey([&](Recorder& recorder, Control&) {
    std::vector<TensorHandle> tensors;
    for (std::size_t k = 0; k + 1 < sizes.size(); ++k) {
      std::vector<Index> shape{sizes[k], sizes[k + 1]};
      if (k % 2 == 1) std::swap(shape[0], shape[1]);
      if (k + 2 == sizes.size() && sizes.back() == 1) shape = {sizes[k]};
      tensors.push_back(
          recorder.load("F" + std::to_string(k), ElementType::kF64, shape, {}, {static_cast<int>(k) + 1, 1}));
    }
    ProductChain chain{"P", {}, sizes, {}, {100, 2}};
    for (std::size_t k = 0; k < tensors.size(); ++k)
      chain.factors.emplace_back(tensors[k], k % 2 == 1 && tensors[k].state().desc.shape.size() == 2);
    static_cast<void>(record_chain(
        chain, [&](plan::OpBuilder& op) { return recorder.record(std::move(op.op()), ElementType::kF64); }));
  });
}

}  // namespace

TEST_CASE("chains: the order has the fewest multiplications") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Index> sizes(4 + random() % 5);
    for (Index& size : sizes) size = 1 + static_cast<Index>(random() % 9);
    const double best = fewest(sizes, 0, sizes.size() - 2);
    double flops = 0;
    std::set<int> sites;
    for (const plan::RegionOp& op : recorded(sizes).ops) {
      flops += plan::flops_of(op.op);
      if (op.op.op_class == plan::OpClass::kContraction) sites.insert(op.op.site);
    }
    CHECK(flops == 2 * best);
    // Each product has its own site, whatever the order.
    CHECK(sites.size() == sizes.size() - 2);
    CHECK(*sites.begin() == 100);
  }
}

TEST_CASE("chains: operations name their factors and read transposed ones in place") {
  const plan::Region region = recorded({30, 20, 10, 1});
  REQUIRE(region.ops.size() == 5);
  const plan::Op& inner = region.ops[3].op;
  const plan::Op& outer = region.ops[4].op;
  CHECK(inner.name == "F1' @ F2");
  CHECK(inner.site == 101);
  CHECK(inner.shape == std::vector<Index>{20});
  CHECK(inner.reads[0].dims[0].terms == std::vector<plan::Affine::Term>{{1, 1}});  // F1[k, i]
  CHECK(outer.name == "P");
  CHECK(outer.site == 100);
}

TEST_CASE("chains: of equally good orders the one from left to right is taken") {
  const std::vector<Index> sizes(6, 8);
  const std::vector<std::size_t> splits = chain_splits(sizes);
  for (std::size_t last = 1; last < 5; ++last) CHECK(splits[last] == last - 1);
}
