#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include "runtime/plan/sent_bytes.h"
#include "runtime/plan/tree.h"
#include "tests/unit/plan_counting.h"
#include "tests/unit/plan_enumeration.h"

using namespace tdsl::plan;
using tdsl::tests::key_of;
using tdsl::tests::OperationGenerator;
using tdsl::tests::PieceKey;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;
using tdsl::tests::Recorder;

namespace {

/// All fetches of an operation, found by walking every rank's steps.
struct Fetches {
  struct Group {
    Piece piece;
    Index owner = 0;
    std::vector<Index> ranks;
  };
  std::map<std::tuple<PieceKey, Index, Index>, Group> groups;  ///< by piece, super-block and panel
  std::vector<Index> sent;                                     ///< bytes, per rank

  Fetches(const Op& op, const OpPlan& plan, const TensorLookup& tensors) : sent(static_cast<std::size_t>(plan.space.ranks()), 0) {
    const TaskSpace space(op, plan, tensors);
    for (Index rank = 0; rank < plan.space.ranks(); ++rank) {
      StepCursor cursor(space, tensors, rank);
      for (Step step; cursor.next(step);) {
        for (const Fetch& fetch : step.fetch) {
          Group& group = groups[{key_of(fetch.piece), step.super_block, step.panel}];
          group.piece = fetch.piece;
          group.owner = fetch.owner;
          group.ranks.push_back(rank);
        }
      }
    }
    for (const auto& [key, group] : groups) {
      const Index bytes = group.piece.box.volume() * tensors(group.piece.tensor).desc.element.bytes;
      for (const Index rank : group.ranks) sent[static_cast<std::size_t>(place_in_tree(group.ranks, group.owner, rank).parent)] += bytes;
    }
  }
};

/// The first disagreement of the inverse map with the steps, or an empty string.
std::string wrong_groups(const Op& op, const OpPlan& plan, const TensorLookup& tensors) {
  const TaskSpace space(op, plan, tensors);
  const Fetches fetches(op, plan, tensors);
  std::map<PieceKey, std::multiset<std::vector<Index>>> wanted;
  for (const auto& [key, group] : fetches.groups) {
    if (space.ranks_wanting(group.piece, group.owner, std::get<1>(key), std::get<2>(key)) != group.ranks) return "ranks_wanting";
    wanted[std::get<0>(key)].insert(group.ranks);
  }
  std::set<TensorId> tensors_read;
  for (const Access& access : op.reads) tensors_read.insert(access.tensor);
  for (const TensorId id : tensors_read) {
    const Distribution& where = tensors(id).distribution;
    if (where.kind() == Distribution::Kind::kReplicated) continue;
    for (Index block = 0; block < where.tile_count(); ++block) {
      const Coord coord = where.coord(block);
      space.for_each_wanted(id, coord, where.owner(coord), [&](const Piece& piece, const std::vector<Index>& ranks) {
        auto& left = wanted[key_of(piece)];
        const auto found = left.find(ranks);
        if (found == left.end()) {
          left.insert({-1});
        } else {
          left.erase(found);
        }
      });
    }
  }
  for (const auto& [piece, left] : wanted) {
    if (!left.empty()) return "for_each_wanted";
  }
  return {};
}

}  // namespace

TEST_CASE("trees reach every rank once, and nobody sends more than a logarithm of copies") {
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
        const TreePlace place = place_in_tree(ranks, owner, rank);
        if (count >= kLeastTree) CHECK(static_cast<Index>(place.children.size()) <= log - depth);
        for (const Index child : place.children) {
          CHECK(reached.insert(child).second);
          CHECK(place_in_tree(ranks, owner, child).parent == rank);
          visit(child, depth + 1);
        }
      };
      visit(owner, 0);
      CHECK(static_cast<Index>(reached.size()) == count);
      CHECK_FALSE(reached.contains(owner));
      CHECK(static_cast<Index>(place_in_tree(ranks, owner, owner).children.size()) == children_of_owner(count));
    }
  }
}

TEST_CASE("trees: who wants a piece in a step, and what is sent, agree with all ranks' steps") {
  Index exact = 0;
  Index trees = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(40); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = OperationGenerator(random).make();
    const TensorLookup tensors = test.lookup();
    INFO("case ", n, ": ", test.describe());
    const std::string wrong = wrong_groups(test.op, test.plan, tensors);
    REQUIRE_MESSAGE(wrong.empty(), wrong);
    test.plan.super_block.clear();
    // Diagonal writes have bounds only for some figures.
    std::map<int, int> written;
    for (const OutSubscript& s : test.op.out) ++written[s.label];
    if (std::any_of(written.begin(), written.end(), [](const auto& uses) { return uses.first >= 0 && uses.second > 1; })) continue;
    const Fetches fetches(test.op, test.plan, tensors);
    for (const auto& [key, group] : fetches.groups) trees += static_cast<Index>(group.ranks.size()) >= kLeastTree ? 1 : 0;
    for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
      const Range sent = sent_bytes(test.op, test.plan, tensors, rank, {});
      const Index counted = fetches.sent[static_cast<std::size_t>(rank)];
      REQUIRE_MESSAGE(tdsl::tests::inside(sent, counted), tdsl::tests::text("sent", sent, counted));
      exact += sent.lo == sent.hi && counted > 0 ? 1 : 0;
    }
  }
  CHECK(exact > 0);
  CHECK(trees > 0);
}

TEST_CASE("trees: what products send is predicted exactly") {
  struct Shape {
    Index m, n, k;
  };
  for (const Index ranks : {2, 3, 4, 5, 6, 7, 9, 12, 16}) {
    for (const Shape& s : {Shape{96, 96, 96}, Shape{97, 89, 101}, Shape{24, 24, 960}, Shape{960, 24, 24}, Shape{300, 1, 300}, Shape{1, 1, 5000}}) {
      for (const Index tile : {Index{0}, Index{7}}) {
        PlanInputs inputs;
        inputs.ranks = ranks;
        if (tile > 0) inputs.tile = {tile};
        Recorder recorder(inputs);
        const TensorId a = recorder.source("A", {s.m, s.k});
        const TensorId b = recorder.source("B", {s.k, s.n});
        recorder.product(a, false, b, false, s.m, s.n, s.k);
        const auto planned = recorder.run();
        const TensorLookup tensors = recorder.planner.lookup();
        for (const auto& op : planned) {
          INFO(s.m, "x", s.n, "x", s.k, " p=", ranks, " tile ", tile, ": ", op->plan.why, "; ", op->plan.space.describe({}));
          const Fetches fetches(op->op, op->plan, tensors);
          for (Index rank = 0; rank < ranks; ++rank) {
            const Range sent = sent_bytes(op->op, op->plan, tensors, rank, {});
            REQUIRE(sent.lo == sent.hi);
            REQUIRE(sent.lo == static_cast<double>(fetches.sent[static_cast<std::size_t>(rank)]));
          }
        }
      }
    }
  }
}
