#include "runtime/plan/steps/in_place.h"

namespace tdsl::plan {

namespace {

/// Alignment of every block and received box.
constexpr Index kBoxAlignment = 64;

/// True if the elements of `box` follow each other in the row-major block, from an aligned address on.
bool lies_like_a_box(const Box& box, const Box& block, Index element_bytes) {
  Index offset = 0;
  Index stride = element_bytes;
  bool whole = true;  // in the dimensions behind d
  for (int d = box.rank - 1; d >= 0; --d) {
    if (!whole && box[d].size() != 1) return false;
    offset += (box[d].lo - block[d].lo) * stride;
    stride *= block[d].size();
    whole = whole && box[d] == block[d];
  }
  return offset % kBoxAlignment == 0;
}

}  // namespace

TreePlace place_of_fetch(const TaskSpace& space, const Step& step, const Fetch& fetch, Index me) {
  const Index ranks_per_node = space.plan().ranks_per_node;
  if (space.plan().space.ranks() <= least_tree(ranks_per_node) || space.by_lists(fetch.piece.tensor))
    return {fetch.owner, {}};
  const std::vector<Index> wanting = space.ranks_wanting(fetch.piece, fetch.owner, step.super_block, step.panel);
  return place_in_tree(wanting, fetch.owner, me, ranks_per_node);
}

bool is_read_in_place(const InPlace& rule, const PlacedTensor& tensor, const Fetch& fetch, const TreePlace& place,
                      Index me) {
  if (rule.least == 0 || fetch.owner == me || fetch.listed >= 0) return false;
  // A relay's copy must not depend on its children's progress, and networks may refuse to send from read-only memory.
  if (place.parent != fetch.owner || !place.children.empty()) return false;
  const auto node = [&rule](Index rank) { return rule.node_of_rank[static_cast<std::size_t>(rank)]; };
  if (node(fetch.owner) != node(me)) return false;
  if (tensor.desc.sized() || tensor.housing.home != Home::kMemory) return false;
  const Index element_bytes = tensor.desc.element.bytes;
  if (fetch.piece.box.volume() * element_bytes < rule.least) return false;
  const Distribution& distribution = tensor.distribution;
  return lies_like_a_box(fetch.piece.box, distribution.box(distribution.coord(fetch.piece.block)), element_bytes);
}

Index bytes_in_place(const InPlace& rule, const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank) {
  if (rule.least == 0 || op.reads.empty()) return 0;
  const TaskSpace space(op, plan, tensors);
  StepCursor cursor(space, tensors, rank);
  Index bytes = 0;
  Step step;
  while (cursor.next(step)) {
    for (const Fetch& fetch : step.fetch) {
      const PlacedTensor& tensor = tensors(fetch.piece.tensor);
      // The cheap part of the rule first: a tree looks at many ranks.
      if (fetch.owner == rank || !is_read_in_place(rule, tensor, fetch, {fetch.owner, {}}, rank)) continue;
      if (!is_read_in_place(rule, tensor, fetch, place_of_fetch(space, step, fetch, rank), rank)) continue;
      bytes += fetch.piece.box.volume() * tensor.desc.element.bytes;
    }
  }
  return bytes;
}

}  // namespace tdsl::plan
