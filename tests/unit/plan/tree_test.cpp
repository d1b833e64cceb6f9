#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include "runtime/plan/cost/sent_bytes.h"
#include "runtime/plan/steps/tree.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/enumeration.h"

using namespace tdsl::plan;
using tdsl::tests::key_of;
using tdsl::tests::OperationGenerator;
using tdsl::tests::PieceKey;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;
using tdsl::tests::Recorder;

namespace {

/// All fetches of an operation, from the steps of every rank.
struct Fetches {
  struct Group {
    Piece piece;
    Index owner = 0;
    std::vector<Index> ranks;
  };
  std::map<std::tuple<PieceKey, Index, Index, Index>, Group> groups;  ///< by piece, super-block, panel and owner
  std::vector<Index> sent;                                            ///< bytes, per rank
  std::vector<Index> entered;                                         ///< bytes received from other nodes, per rank

  Fetches(const Op& op, const OpPlan& plan, const TensorLookup& tensors)
      : sent(static_cast<std::size_t>(plan.space.ranks()), 0),
        entered(static_cast<std::size_t>(plan.space.ranks()), 0) {
    const TaskSpace space(op, plan, tensors);
    for (Index rank = 0; rank < plan.space.ranks(); ++rank) {
      StepCursor cursor(space, tensors, rank);
      for (Step step; cursor.next(step);) {
        for (const Fetch& fetch : step.fetch) {
          Group& group = groups[{key_of(fetch.piece), step.super_block, step.panel, fetch.owner}];
          group.piece = fetch.piece;
          group.owner = fetch.owner;
          group.ranks.push_back(rank);
        }
      }
    }
    for (const auto& [key, group] : groups) {
      const Index bytes = group.piece.box.volume() * tensors(group.piece.tensor).desc.element.bytes;
      for (const Index rank : group.ranks) {
        const Index parent = place_in_tree(group.ranks, group.owner, rank, plan.ranks_per_node).parent;
        sent[static_cast<std::size_t>(parent)] += bytes;
        const bool far = plan.ranks_per_node > 1 && parent / plan.ranks_per_node != rank / plan.ranks_per_node;
        entered[static_cast<std::size_t>(rank)] += far ? bytes : 0;
      }
    }
  }
};

/// The first difference between the inverse map and the steps, or an empty string.
std::string wrong_groups(const Op& op, const OpPlan& plan, const TensorLookup& tensors) {
  const TaskSpace space(op, plan, tensors);
  const Fetches fetches(op, plan, tensors);
  std::map<std::pair<PieceKey, Index>, std::multiset<std::vector<Index>>> wanted;  // by piece and owner
  for (const auto& [key, group] : fetches.groups) {
    if (space.ranks_wanting(group.piece, group.owner, std::get<1>(key), std::get<2>(key)) != group.ranks)
      return "ranks_wanting";
    wanted[{std::get<0>(key), group.owner}].insert(group.ranks);
  }
  std::set<TensorId> tensors_read;
  for (const Access& access : op.reads) tensors_read.insert(access.tensor);
  for (const TensorId id : tensors_read) {
    const Distribution& where = tensors(id).distribution;
    if (where.everywhere()) continue;
    for (Index block = 0; block < where.tile_count(); ++block) {
      const Coord coord = where.coord(block);
      for (Index owner = 0; owner < where.ranks(); ++owner) {
        if (!where.owns(owner, coord)) continue;
        space.for_each_wanted(id, coord, owner, [&](const Piece& piece, const std::vector<Index>& ranks) {
          auto& left = wanted[{key_of(piece), owner}];
          const auto found = left.find(ranks);
          if (found == left.end()) {
            left.insert({-1});
          } else {
            left.erase(found);
          }
        });
      }
    }
  }
  for (const auto& [piece, left] : wanted) {
    if (!left.empty()) return "for_each_wanted";
  }
  return {};
}

}  // namespace

TEST_CASE("trees reach every rank once, and no rank sends more than a logarithm of copies") {
  for (Index count = 1; count < 70; ++count) {
    for (const Index owner : {Index{0}, Index{3}, count, count + 5}) {
      std::vector<Index> ranks;
      for (Index rank = 0; static_cast<Index>(ranks.size()) < count; ++rank) {
        if (rank != owner) ranks.push_back(rank);
      }
      CAPTURE(count);
      CAPTURE(owner);
      std::set<Index> reached;
      const auto log = static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(count)));
      const std::function<void(Index, Index)> visit = [&](Index rank, Index depth) {
        CHECK(depth <= log);
        const TreePlace place = place_in_tree(ranks, owner, rank, 1);
        if (count >= kLeastTree) CHECK(static_cast<Index>(place.children.size()) <= log - depth);
        for (const Index child : place.children) {
          CHECK(reached.insert(child).second);
          CHECK(place_in_tree(ranks, owner, child, 1).parent == rank);
          visit(child, depth + 1);
        }
      };
      visit(owner, 0);
      CHECK(static_cast<Index>(reached.size()) == count);
      CHECK_FALSE(reached.contains(owner));
      CHECK(static_cast<Index>(place_in_tree(ranks, owner, owner, 1).children.size()) ==
            children_of_owner(ranks, owner, 1));
    }
  }
}

namespace {

/// The first property violated by the tree of a box on nodes, or an empty string.
std::string wrong_on_nodes(const std::vector<Index>& ranks, Index owner, Index per_node) {
  std::map<Index, Index> asked;  // the rank that each rank requests from
  std::map<Index, Index> near, far;
  std::map<Index, Index> entries;  // per node
  for (const Index rank : ranks) {
    const Index parent = place_in_tree(ranks, owner, rank, per_node).parent;
    asked[rank] = parent;
    if (parent != owner && !std::binary_search(ranks.begin(), ranks.end(), parent)) return "a parent has no copy";
    const bool same = parent / per_node == rank / per_node;
    ++(same ? near : far)[parent];
    if (!same) ++entries[rank / per_node];
  }
  std::set<Index> nodes;
  for (const Index rank : ranks) nodes.insert(rank / per_node);
  nodes.erase(owner / per_node);
  for (const Index node : nodes) {
    if (entries[node] != 1) return "a node is not entered once";
  }
  if (entries.size() != nodes.size()) return "the owner's node is entered";
  for (const Index rank : ranks) {
    Index at = rank;
    for (std::size_t steps = 0; at != owner; at = asked[at]) {
      if (++steps > ranks.size()) return "a rank is not reached";
    }
  }
  std::vector<Index> all = ranks;
  all.push_back(owner);
  for (const Index rank : all) {
    std::vector<Index> children = place_in_tree(ranks, owner, rank, per_node).children;
    std::sort(children.begin(), children.end());
    std::vector<Index> askers;
    for (const auto& [child, parent] : asked) {
      if (parent == rank) askers.push_back(child);
    }
    if (children != askers) return "children and parents disagree";
    const auto log = [](Index n) {
      return std::max<Index>(kLeastTree - 1, static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(n))));
    };
    if (far[rank] > log(static_cast<Index>(nodes.size())) || near[rank] > log(per_node - 1))
      return "too many copies by one rank";
  }
  if (static_cast<Index>(place_in_tree(ranks, owner, owner, per_node).children.size()) !=
      children_of_owner(ranks, owner, per_node)) {
    return "children_of_owner";
  }
  return {};
}

}  // namespace

TEST_CASE("trees on nodes: every rank is reached once, and every node entered once") {
  Index cases = 0;
  for (Index ranks = 2; ranks <= 64; ++ranks) {
    for (Index per_node = 2; per_node < ranks; ++per_node) {
      if (ranks % per_node != 0) continue;
      for (std::uint64_t n = 0; n < 8; ++n) {
        Random random(tdsl::tests::test_seed(), static_cast<std::uint64_t>(ranks * 64 + per_node) * 8 + n);
        const Index owner = random.in(0, ranks - 1);
        const int percent = n == 0 ? 100 : random.small(5, 95);
        std::vector<Index> wanting;
        for (Index rank = 0; rank < ranks; ++rank) {
          if (rank != owner && random.chance(percent)) wanting.push_back(rank);
        }
        INFO(ranks, " ranks, ", per_node, " a node, owner ", owner, ", ", wanting.size(), " want it");
        const std::string wrong = wrong_on_nodes(wanting, owner, per_node);
        REQUIRE_MESSAGE(wrong.empty(), wrong);
        ++cases;
      }
    }
  }
  CHECK(cases > 1000);
}

TEST_CASE("trees on nodes: boxes of the ranks of one node are taken over by as many ranks of another") {
  constexpr Index ranks = 16, per_node = 4;
  std::set<Index> leaders;
  for (Index owner = 0; owner < per_node; ++owner) {
    std::vector<Index> wanting;
    for (Index rank = 0; rank < ranks; ++rank) {
      if (rank != owner) wanting.push_back(rank);
    }
    for (Index rank = per_node; rank < 2 * per_node; ++rank) {
      if (place_in_tree(wanting, owner, rank, per_node).parent / per_node == 0) leaders.insert(rank);
    }
  }
  CHECK(leaders.size() == per_node);
}

TEST_CASE("trees: the receivers of a piece and the sent bytes agree with all ranks' steps") {
  Index exact = 0;
  Index exact_entered = 0;
  Index trees = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(40); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = OperationGenerator(random).make();
    const TensorLookup tensors = test.lookup();
    INFO("case ", n, ": ", test.describe());
    const std::string wrong = wrong_groups(test.op, test.plan, tensors);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
    test.plan.super_block.clear();
    // For diagonal writes some figures are only bounded.
    std::map<int, int> written;
    for (const OutSubscript& s : test.op.out) ++written[s.label];
    if (std::any_of(written.begin(), written.end(),
                    [](const auto& uses) { return uses.first >= 0 && uses.second > 1; }))
      continue;
    for (Index per_node = 1; per_node < test.plan.space.ranks(); ++per_node) {
      if (test.plan.space.ranks() % per_node != 0) continue;
      test.plan.ranks_per_node = per_node;
      INFO(per_node, " ranks a node");
      const Fetches fetches(test.op, test.plan, tensors);
      for (const auto& [key, group] : fetches.groups)
        trees += static_cast<Index>(group.ranks.size()) >= kLeastTree ? 1 : 0;
      for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
        const Range sent = sent_bytes(test.op, test.plan, tensors, rank, {});
        const Index counted = fetches.sent[static_cast<std::size_t>(rank)];
        REQUIRE_MESSAGE(tdsl::tests::inside(sent, counted), tdsl::tests::text("sent", sent, counted));
        exact += sent.lo == sent.hi && counted > 0 ? 1 : 0;
        const Range entered = bytes_from_other_nodes(test.op, test.plan, tensors, rank, {});
        const Index came = fetches.entered[static_cast<std::size_t>(rank)];
        REQUIRE_MESSAGE(tdsl::tests::inside(entered, came), tdsl::tests::text("entered", entered, came));
        exact_entered += entered.lo == entered.hi && came > 0 ? 1 : 0;
      }
    }
  }
  CHECK(exact > 0);
  CHECK(exact_entered > 0);
  CHECK(trees > 0);
}

TEST_CASE("trees: where a rank asks another one than the owner, all ranks take the steps in one order") {
  Index relayed = 0;
  Index rotated = 0;
  for (Index ranks = 2; ranks <= 16; ++ranks) {
    for (Index per_node = 1; per_node < ranks; ++per_node) {
      for (const bool squared : {false, true}) {
        if (ranks % per_node != 0) continue;
        PlanInputs inputs;
        inputs.ranks = ranks;
        inputs.ranks_per_node = per_node;
        inputs.tile = {1000};
        Recorder recorder(inputs);
        const TensorId a = recorder.source("A", {12000, 12000});
        const TensorId b = squared ? a : recorder.source("B", {12000, 12000});
        recorder.product(a, false, b, false, 12000, 12000, 12000);
        recorder.product(a, true, b, false, 12000, 12000, 12000);  // its operands are not in its preferred layouts
        const auto planned = recorder.run();
        const TensorLookup tensors = recorder.planner.lookup();
        for (const auto& op : planned) {
          INFO(ranks, " ranks, ", per_node, " a node, ", squared ? "A @ A" : "A @ B", ": ", op->plan.why);
          const std::string wrong = wrong_groups(op->op, op->plan, tensors);
          REQUIRE_MESSAGE(wrong.empty(), wrong);
          const TaskSpace space(op->op, op->plan, tensors);
          bool relays = false;
          for (const auto& [key, group] : Fetches(op->op, op->plan, tensors).groups) {
            for (const Index rank : group.ranks) {
              relays = relays ||
                       place_in_tree(group.ranks, group.owner, rank, op->plan.ranks_per_node).parent != group.owner;
            }
          }
          bool one_order = true;
          for (Index rank = 0; rank < ranks; ++rank) one_order = one_order && space.first_panel(rank) == 0;
          REQUIRE((one_order || !relays));
          relayed += relays ? 1 : 0;
          rotated += one_order ? 0 : 1;
        }
      }
    }
  }
  CHECK(relayed > 0);
  CHECK(rotated > 0);
}

TEST_CASE("trees: what products send is predicted exactly") {
  struct Shape {
    Index m, n, k;
  };
  for (const Index ranks : {2, 3, 4, 5, 6, 7, 9, 12, 16}) {
    for (const Shape& s : {Shape{96, 96, 96}, Shape{97, 89, 101}, Shape{24, 24, 960}, Shape{960, 24, 24},
                           Shape{300, 1, 300}, Shape{1, 1, 5000}}) {
      for (const auto& pair :
           std::vector<std::pair<Index, Index>>{{0, 1}, {7, 1}, {0, 2}, {7, 2}, {0, 3}, {0, 4}, {7, 4}, {0, 8}}) {
        const Index tile = pair.first;
        const Index per_node = pair.second;
        if (ranks % per_node != 0 || (per_node > 1 && per_node >= ranks)) continue;
        PlanInputs inputs;
        inputs.ranks = ranks;
        inputs.ranks_per_node = per_node;
        if (tile > 0) inputs.tile = {tile};
        Recorder recorder(inputs);
        const TensorId a = recorder.source("A", {s.m, s.k});
        const TensorId b = recorder.source("B", {s.k, s.n});
        recorder.product(a, false, b, false, s.m, s.n, s.k);
        const auto planned = recorder.run();
        const TensorLookup tensors = recorder.planner.lookup();
        for (const auto& op : planned) {
          INFO(s.m, "x", s.n, "x", s.k, " p=", ranks, " tile ", tile, ", ", per_node, " a node: ", op->plan.why, "; ",
               op->plan.space.describe({}));
          const Fetches fetches(op->op, op->plan, tensors);
          for (Index rank = 0; rank < ranks; ++rank) {
            const Range sent = sent_bytes(op->op, op->plan, tensors, rank, {});
            REQUIRE(sent.lo == sent.hi);
            REQUIRE(sent.lo == static_cast<double>(fetches.sent[static_cast<std::size_t>(rank)]));
            const Range entered = bytes_from_other_nodes(op->op, op->plan, tensors, rank, {});
            REQUIRE(entered.lo == entered.hi);
            REQUIRE(entered.lo == static_cast<double>(fetches.entered[static_cast<std::size_t>(rank)]));
          }
        }
      }
    }
  }
}
