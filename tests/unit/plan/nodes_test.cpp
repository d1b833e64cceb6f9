#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/plan/cost/node_bytes.h"
#include "runtime/plan/cost/transfers.h"
#include "runtime/plan/region/plan_price.h"
#include "runtime/plan/space/candidates.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/random.h"
#include "tests/unit/plan/regions.h"

// Costs on clusters where communication within a node is cheaper.

using namespace tdsl::plan;
using tdsl::tests::bytes_only;
using tdsl::tests::count;
using tdsl::tests::Random;
using tdsl::tests::RegionWriter;

namespace {

/// Constants that make predicted seconds equal to the bytes entering the busiest node.
PlanInputs far_bytes_only(Index ranks, Index per_node) {
  PlanInputs inputs = bytes_only(ranks, 2);
  inputs.ranks_per_node = per_node;
  inputs.machine.near_bandwidth = 1e300;
  return inputs;
}

Region product_region(Index n) {
  RegionWriter r({{'i', n}, {'k', n}, {'j', n}});
  const TensorId A = r.load("A", "ik"), B = r.load("B", "kj");
  const TensorId C = r.op("C", "ij", {{A, "ik"}, {B, "kj"}});
  return r.finish({C});
}

/// A product of n x n matrices with given layouts.
struct PlacedProduct {
  Op whole;  ///< as recorded
  Op op;     ///< perhaps with partial results
  OpPlan plan;
  std::map<TensorId, PlacedTensor> placed;
  [[nodiscard]] TensorLookup lookup() const {
    return [this](TensorId id) -> const PlacedTensor& { return placed.at(id); };
  }
};

PlacedProduct placed_product(Index n, const Layout& work, const std::vector<Layout>& where, const Mesh& mesh,
                             const PlanInputs& inputs) {
  OpBuilder builder(OpClass::kReduce, "C", 3, 3);
  builder.out("i", n).out("j", n).reduce("k", n).combine(Combine::kSum).read(0, {at(0), at(2)}).read(1, {at(2), at(1)});
  builder.op().outputs = {{100, {8, "f64"}, builder.op().shape, "C"}};
  const std::vector<TensorDesc> tensors{{0, {8, "f64"}, {n, n}, "A"}, {1, {8, "f64"}, {n, n}, "B"}};
  const Operands operands{[](TensorId) { return nullptr; },
                          [&](TensorId id) -> const TensorDesc& { return tensors[static_cast<std::size_t>(id)]; },
                          [&](TensorId id) { return &where[static_cast<std::size_t>(id)]; }, &mesh};
  std::optional<Candidate> candidate = realise(builder.op(), work, inputs, operands);
  REQUIRE(candidate);
  PlacedProduct product{builder.op(), candidate->op, candidate->plan, {}};
  product.plan.ranks_per_node = inputs.ranks_per_node;
  for (const auto& [id, distribution] : candidate->leaves)
    product.placed[id] = {tensors[static_cast<std::size_t>(id)], distribution};
  return product;
}

/// Bytes of one operand entering every node: elements that some rank fetches from another node, once per fibre.
std::vector<double> enumerated(const PlacedProduct& product, TensorId id, Index ranks, Index per_node) {
  std::vector<std::set<std::tuple<Index, Index, Index>>> elements(static_cast<std::size_t>(ranks / per_node));
  for (Index rank = 0; rank < ranks; ++rank) {
    const Index fibre = product.placed.at(id).distribution.fibre(rank);
    count(product.op, product.plan, product.lookup(), rank, [&](const Fetch& fetch) {
      if (fetch.piece.tensor != id || fetch.owner / per_node == rank / per_node) return;
      const Box& box = fetch.piece.box;
      for (Index i = box[0].lo; i < box[0].hi; ++i) {
        for (Index j = box[1].lo; j < box[1].hi; ++j)
          elements[static_cast<std::size_t>(rank / per_node)].emplace(fibre, i, j);
      }
    });
  }
  std::vector<double> bytes;
  for (const auto& node : elements) bytes.push_back(8 * static_cast<double>(node.size()));
  return bytes;
}

}  // namespace

TEST_CASE("nodes: seconds for near and far bytes") {
  Machine m;
  m.latency = 4, m.bandwidth = 2, m.near_latency = 1, m.near_bandwidth = 8, m.exchange_overhead = 3;
  REQUIRE(m.tells_nodes());
  // 10 messages with 80 bytes, of which 20 come from other nodes; 60 enter this rank's node in total.
  CHECK(seconds_of({80, 10, true, 20, 60}, m) == 60.0 / 8 + 60.0 / 2 + (3 + 10 * (0.25 * 4 + 0.75 * 1)));
  CHECK(seconds_of({80, 10, false, 0, 0}, m) == 80.0 / 2 + (3 + 10 * 4));
  CHECK(seconds_of({80, 10, false, 0, 0}, m.within_node()) == 80.0 / 8 + (3 + 10 * 1));
  CHECK(seconds_of({0, 0, false, 0, 0}, m) == 0);
  CHECK_FALSE(m.within_node().tells_nodes());
  CHECK_FALSE(Machine{}.tells_nodes());
}

TEST_CASE("nodes: one node has the constants within it, and ranks that do not fill nodes have those between nodes") {
  PlanInputs inputs;
  inputs.ranks = 6;
  inputs.machine.near_bandwidth = 7e9;
  const auto settled = [&](Index per_node) {
    PlanInputs other = inputs;
    other.ranks_per_node = per_node;
    other.settle_nodes();
    PlanInputs again = other;
    again.settle_nodes();
    CHECK(again.machine == other.machine);
    CHECK(again.ranks_per_node == other.ranks_per_node);
    return other;
  };
  CHECK(settled(6).machine.bandwidth == 7e9);
  CHECK(settled(6).ranks_per_node == 1);
  CHECK(settled(4).machine.bandwidth == Machine{}.bandwidth);
  CHECK_FALSE(settled(4).tells_nodes());
  CHECK(settled(3).tells_nodes());
  CHECK(settled(1).machine.bandwidth == Machine{}.bandwidth);
}

TEST_CASE("nodes: where near and far are equal seconds are those without nodes, to the last bit") {
  for (const Index ranks : {4, 8, 12}) {
    for (const double near : {0.0, Machine{}.bandwidth}) {
      PlanInputs plain, nodes;
      plain.ranks = nodes.ranks = ranks;
      nodes.machine.near_bandwidth = near;
      nodes.machine.near_latency = near > 0 ? nodes.machine.latency : 0;
      const PlanPrice a = price_of(product_region(600), plain, nullptr);
      nodes.ranks_per_node = ranks;
      const PlanPrice b = price_of(product_region(600), nodes, nullptr);
      CHECK(a.seconds == b.seconds);
      CHECK(search(product_region(600), plain, {}).seconds == search(product_region(600), nodes, {}).seconds);
      nodes.ranks_per_node = 2;
      nodes.settle_nodes();
      CHECK_FALSE(nodes.tells_nodes());
    }
  }
}

TEST_CASE("nodes: predicted bytes that enter a node are those that are fetched from other nodes, once each") {
  const Index n = 16;
  Index different = 0;
  for (const auto& [ranks, per_node] : {std::pair<Index, Index>{4, 2}, {8, 2}, {8, 4}, {12, 3}, {16, 4}}) {
    const PlanInputs inputs = far_bytes_only(ranks, per_node);
    for (const Mesh& mesh : meshes_of(ranks, per_node)) {
      std::vector<Layout> works = copy_layouts(mesh, {n, n, n}), places = copy_layouts(mesh, {n, n});
      for (Layout& layout : spread_layouts(mesh, {n, n, n})) works.push_back(std::move(layout));
      for (Layout& layout : spread_layouts(mesh, {n, n})) places.push_back(std::move(layout));
      std::vector<Index> all;
      for (Index rank = 0; rank < ranks; ++rank) all.push_back(rank);
      for (std::uint64_t c = 0; c < 30; ++c) {
        Random random(tdsl::tests::test_seed(), c * 64 + static_cast<std::uint64_t>(ranks + per_node));
        const Layout work = random.one_of(works);
        const std::vector<Layout> where{random.one_of(places), random.one_of(places)};
        const PlacedProduct product = placed_product(n, work, where, mesh, inputs);
        const counting::CutSpace space{{n, n, n}, {std::nullopt, std::nullopt, std::nullopt}},
            matrix{{n, n}, {std::nullopt, std::nullopt}};
        const counting::Boxes mine = counting::shares_of(space, work, mesh, all);
        std::vector<double> both(static_cast<std::size_t>(ranks / per_node), 0);
        for (const TensorId id : {0, 1}) {
          const auto k = static_cast<std::size_t>(id);
          const std::vector<double> bytes = enumerated(product, id, ranks, per_node);
          for (std::size_t node = 0; node < both.size(); ++node) both[node] += bytes[node];
          const TensorDesc& tensor = product.placed.at(id).desc;
          const counting::Boxes own = counting::shares_of(matrix, where[k], mesh, all),
                                need = counting::needs_of(product.whole, product.whole.reads[k], {n, n}, mine);
          INFO(ranks, " ranks, ", per_node, " a node: ", text_of(work, {"i", "j", "k"}), "; ",
               text_of(where[k], {"i", "j"}), " of T", id);
          CHECK(seconds_to_receive({own, where[k], mesh, tensor, all}, {need}, inputs) ==
                doctest::Approx(*std::max_element(bytes.begin(), bytes.end())));
        }
        for (Index rank = 0; rank < ranks; ++rank) {
          const Cost cost = cost_of(product.op, product.plan, product.lookup(), rank, inputs.machine, 1);
          const Traffic traffic = traffic_of(product.op, product.plan, product.lookup(), rank, cost.bytes_received.hi,
                                             cost.boxes.hi, inputs.machine);
          CHECK(traffic.entering == doctest::Approx(both[static_cast<std::size_t>(rank / per_node)]));
          CHECK(traffic.far <= traffic.bytes);
          different += traffic.entering > 0 && traffic.far < traffic.bytes ? 1 : 0;
        }
      }
    }
  }
  CHECK(different > 0);
}

TEST_CASE("nodes: a product on 4 nodes of 4 ranks brings half a matrix into every node") {
  const Index n = 64;
  const FoundPlan found = search(product_region(n), far_bytes_only(16, 4), {});
  CHECK(found.seconds == doctest::Approx(8.0 * n * n / 2));
  const PlanPrice price = price_of(product_region(n), far_bytes_only(16, 4), std::make_shared<PlanValue>(found.plan));
  CHECK(price.seconds == doctest::Approx(8.0 * n * n / 2));
  // Without nodes each rank's received bytes count: 2 (sqrt p - 1) / p n^2.
  CHECK(search(product_region(n), bytes_only(16, 1.2), {}).seconds == doctest::Approx(8.0 * n * n * 6 / 16));
}

TEST_CASE("nodes: partial results meet within a node before they are sent to another only where that is cheaper") {
  // A sum of 16 partial results of n elements on 4 nodes of 4 ranks, pulled by its owners: a node computes a quarter of
  // the partial results.
  RegionWriter r({{'i', 1 << 20}, {'j', 4}, {'k', 4}});
  const TensorId X = r.load("X", "ij"), Y = r.load("Y", "ik");
  const TensorId G = r.op("G", "jk", {{X, "ij"}, {Y, "ik"}});
  const Region region = r.finish({G});
  const FoundPlan found = search(region, far_bytes_only(16, 4), {});
  const PlanPrice price = price_of(region, far_bytes_only(16, 4), std::make_shared<PlanValue>(found.plan));
  CHECK(price.seconds == doctest::Approx(found.seconds));
  CHECK(found.seconds <= 16 * 8.0 * 12);
  CHECK(found.seconds > 0);
}
