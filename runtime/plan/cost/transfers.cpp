#include "runtime/plan/cost/transfers.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/cost/machine.h"
#include "runtime/plan/cost/node_bytes.h"
#include "runtime/plan/space/placement.h"

namespace tdsl::plan {

using counting::Boxes;

namespace {

/// Elements of the union of one or two boxes on a rank; with `own`, only the rank's own.
template <class... Own>
double united(const std::vector<Boxes>& needs, std::size_t r, const Own&... own) {
  return counting::volume_of_union(
      needs.size(), [&](std::size_t k) { return counting::volume(r, needs[k], own...); },
      [&] { return counting::volume(r, needs[0], needs[1], own...); });
}

/// Number of boxes that a rank's box overlaps if every dimension is cut into `shares(d)` near-equal shares.
template <class F>
double boxes_met(const std::vector<Index>& extents, const Boxes& boxes, std::size_t r, F&& shares) {
  return counting::volume_over(boxes.dims, [&](std::size_t d) {
    const Index count = shares(d);
    return count > 1 ? Tiling::near_equal(extents[d], count).tiles_meeting(boxes.of(r, d)).size() : 1;
  });
}

/// Number of other owners' boxes that a rank's box overlaps: one per owner, except where a block map cuts them
/// further.
double other_owners(const OwnedBoxes& own, const Boxes& need, std::size_t r) {
  if (!need.has[r]) return 0;
  if (own.layout.whole())
    return counting::volume(r, need, own.boxes) > 0 ? 0 : 1;  // results of loops have their own shapes
  const double owners =
      boxes_met(own.tensor.shape, need, r, [&](std::size_t d) { return shares_along(own.mesh, own.layout, d); });
  const double mine = counting::volume(r, need, own.boxes);
  if (own.layout.map) return owners * (1 - mine / std::max(counting::volume(r, need), 1.0));
  return mine > 0 ? owners - 1 : owners;
}

/// Elements of a result in a rank's part of the task space.
double output_elements(const Op& op, const Boxes& work, std::size_t r) {
  return counting::volume_over(op.shape.size(), [&](std::size_t d) { return work.of(r, d).size(); });
}

std::vector<counting::Intervals> lists_of(const Boxes& boxes, std::size_t r) {
  std::vector<counting::Intervals> lists;
  for (std::size_t d = 0; d < boxes.dims; ++d) lists.push_back({boxes.of(r, d)});
  return lists;
}

/// Traffic of the sampled ranks if nodes are distinguished, without messages. `received`: elements; `where`: the
/// operand's layout; `member(r)`: elements that sampled rank r needs and owns.
template <class F>
std::vector<Traffic> node_traffic(const std::vector<double>& received, const OwnedBoxes& own, const Layout& where,
                                  double element, const PlanInputs& inputs, F&& member) {
  const std::vector<GridAxis> repeat = repeat_axes(own.mesh, where);
  const auto per_node = static_cast<std::size_t>(inputs.ranks_per_node);
  std::vector<Traffic> traffic;
  for (std::size_t first = 0; first < received.size(); first += per_node) {
    std::vector<counting::Member> node;
    for (std::size_t r = first; r < first + per_node; ++r) node.push_back(member(r));
    const counting::Entering enters = counting::entering(node, [&](std::size_t a, std::size_t b) {
      return counting::same_coordinates(repeat, own.ranks[first + a], own.ranks[first + b]);
    });
    for (std::size_t m = 0; m < per_node; ++m) {
      const double bytes = received[first + m] * element;
      traffic.push_back({bytes, 0, true, std::min(enters.by[m] * element, bytes), enters.all * element});
    }
  }
  return traffic;
}

/// The same for partial results of layout `made`, with the parts as further dimensions: an owner needs all of them and
/// has computed one.
std::vector<Traffic> meeting_traffic(const OwnedBoxes& own, const Boxes& work, const Layout& made, double parts,
                                     double element, const PlanInputs& inputs) {
  std::vector<double> received;
  for (std::size_t r = 0; r < own.boxes.ranks(); ++r) {
    received.push_back(counting::volume(r, own.boxes) * parts - counting::volume(r, own.boxes, work));
  }
  return node_traffic(received, own, made, element, inputs, [&](std::size_t r) {
    counting::Member member;
    member.owns = work.has[r] != 0;
    if (own.boxes.has[r]) member.needs.push_back(lists_of(own.boxes, r));
    for (std::size_t d = 0; d < own.boxes.dims; ++d) member.own.push_back({work.of(r, d)});
    for (std::size_t d = own.boxes.dims; d < made.cut.size(); ++d) {
      const Index part = coordinate(own.mesh, made.cut[d], own.ranks[r]);
      if (!member.needs.empty()) member.needs.front().push_back({{0, coordinates(own.mesh, made.cut[d])}});
      member.own.push_back({{part, part + 1}});
    }
    return member;
  });
}

std::vector<Traffic> receiving_traffic(const OwnedBoxes& own, const std::vector<Boxes>& needs,
                                       const std::vector<double>& lacking, const PlanInputs& inputs) {
  return node_traffic(lacking, own, own.layout, own.tensor.mean_bytes(), inputs, [&](std::size_t r) {
    counting::Member member{{}, lists_of(own.boxes, r), own.boxes.has[r] != 0};
    for (const Boxes& need : needs) {
      if (need.has[r]) member.needs.push_back(lists_of(need, r));
    }
    return member;
  });
}

/// Time to fetch operands if ranks lack `lacking` elements.
double seconds_to_get(const OwnedBoxes& own, const std::vector<Boxes>& needs, const std::vector<double>& lacking,
                      const PlanInputs& inputs) {
  double most = 0;
  std::size_t busiest = 0;
  for (std::size_t r = 0; r < lacking.size(); ++r) {
    if (lacking[r] > most) most = lacking[r], busiest = r;
  }
  if (most == 0) return 0;
  Traffic traffic{most * own.tensor.mean_bytes(), 0, false, 0, 0};
  if (inputs.tells_nodes()) {
    const std::vector<Traffic> all = receiving_traffic(own, needs, lacking, inputs);
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (seconds_of_bytes(all[r], inputs.machine) > seconds_of_bytes(all[busiest], inputs.machine)) busiest = r;
    }
    traffic = all[busiest];
  }
  for (const Boxes& need : needs) traffic.messages += other_owners(own, need, busiest);
  return seconds_of(traffic, inputs.machine);
}

}  // namespace

bool same_boxes(const std::vector<Boxes>& a, const std::vector<Boxes>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].has != b[k].has || a[k].at != b[k].at) return false;
  }
  return true;
}

double tasks_of(const Layout& layout, const Mesh& mesh) {
  return layout.map ? std::ceil(static_cast<double>(layout.map->count()) / static_cast<double>(mesh.ranks())) : 1;
}

double seconds_to_compute(const Op& op, const Boxes& work, const PlanInputs& inputs, const DescOf& desc_of) {
  const Machine& machine = inputs.machine;
  double worst = 0;
  for (std::size_t r = 0; r < work.ranks(); ++r) {
    if (!work.has[r]) continue;
    const double points = counting::points_of(op, work, r);
    double bytes = 0, packing = 0;
    for (const TensorDesc& output : op.outputs) { bytes += output_elements(op, work, r) * output.mean_bytes(); }
    if (streams_operands(op)) {
      const double times = op.by_rows ? reads_of_shared(op, points) : 1;
      for (const Access& access : op.reads) {
        const TensorDesc* const tensor = desc_of(access.tensor);
        if (tensor == nullptr) continue;
        const double element =
            tensor->sized() ? tensor->mean_bytes() : static_cast<double>(op.outputs.front().element.bytes);
        const double once = counting::touched_elements(op, access, tensor->shape, work, r) * element;
        bytes += once;
        const double again = is_shared(access) ? times - 1 : 0;
        if (op.product_share > 0)
          packing += again * seconds_to_pack(once, machine);
        else
          bytes += again * once;
      }
    } else {
      bytes += 8.0 * static_cast<double>(op.reads.size()) * points;
    }
    const double flops = points * op.flops_per_point;
    const double streaming = std::max(seconds_of_flops(op, flops, machine), bytes / machine.stream_rate);
    worst = std::max(worst, streaming + packing);
  }
  return worst / inputs.threads;
}

double seconds_to_receive(const OwnedBoxes& own, const std::vector<Boxes>& needs, const PlanInputs& inputs) {
  std::vector<double> lacking;
  for (std::size_t r = 0; r < own.boxes.ranks(); ++r) lacking.push_back(united(needs, r) - united(needs, r, own.boxes));
  return seconds_to_get(own, needs, lacking, inputs);
}

ReceivingTable::ReceivingTable(const std::vector<OwnedBoxes>& own, const std::vector<std::vector<Boxes>>& needs,
                               const PlanInputs& inputs)
    : own_(own), needs_(needs), inputs_(inputs) {
  for (const std::vector<Boxes>& need : needs) {
    std::vector<double>& elements = needed_.emplace_back();
    for (std::size_t r = 0; r < need.front().ranks(); ++r) elements.push_back(united(need, r));
    if (need.size() == 2) both_.push_back(counting::common_boxes(need[0], need[1]));
  }
  std::vector<const Boxes*> owned, needed;
  for (const OwnedBoxes& boxes : own) owned.push_back(&boxes.boxes);
  auto both = both_.begin();
  for (const std::vector<Boxes>& need : needs) {
    first_.push_back(needed.size());
    for (const Boxes& boxes : need) needed.push_back(&boxes);
    if (need.size() == 2) needed.push_back(&*both++);
  }
  common_.emplace(owned, needed, own.empty() ? 0 : own.front().boxes.dims);
}

double ReceivingTable::seconds(std::size_t layout, std::size_t need) {
  lacking_ = needed_[need];
  const std::size_t boxes = needs_[need].size();
  for (std::size_t k = 0; k < boxes + (boxes == 2 ? 1 : 0); ++k) {
    common_->of(layout, first_[need] + k, volumes_);
    const double sign = k < boxes ? 1 : -1;  // elements that both need would be counted twice
    for (std::size_t r = 0; r < lacking_.size(); ++r) lacking_[r] -= sign * volumes_[r];
  }
  return seconds_to_get(own_[layout], needs_[need], lacking_, inputs_);
}

double seconds_to_meet(const Op& op, const OwnedBoxes& own, const Boxes& work, const Layout& made, Index parts,
                       const PlanInputs& inputs) {
  std::vector<double> ready;
  for (std::size_t r = 0; r < own.boxes.ranks(); ++r) ready.push_back(counting::volume(r, own.boxes, work));
  return seconds_to_meet(op, own, work, ready, made, parts, inputs);
}

double seconds_to_meet(const Op& op, const OwnedBoxes& own, const Boxes& work, const std::vector<double>& ready,
                       const Layout& made, Index parts, const PlanInputs& inputs) {
  const auto count = static_cast<double>(parts);
  // The lists of all parts have an entry per point.
  const double element =
      assembles(op) ? entries_of(op) * entry_bytes(op.shape.size()) / std::max(1.0, elements_of(op.shape) * count)
                    : static_cast<double>(op.outputs.front().element.bytes);
  const std::vector<Traffic> all =
      inputs.tells_nodes() ? meeting_traffic(own, work, made, count, element, inputs) : std::vector<Traffic>{};
  double worst = 0, most = 0;
  std::size_t busiest = 0;
  for (std::size_t r = 0; r < own.boxes.ranks(); ++r) {
    if (!own.boxes.has[r]) continue;
    const double mine = counting::volume(r, own.boxes);
    const double received = mine * count - ready[r];
    if (received > most) most = received, busiest = r;
    const Traffic traffic = all.empty() ? Traffic{received * element, 0, false, 0, 0} : all[r];
    worst = std::max(worst, seconds_of_bytes(traffic, inputs.machine) +
                                (count + 1) * mine * element / (inputs.machine.stream_rate * inputs.threads));
  }
  if (most == 0) return worst + inputs.machine.task_overhead;
  double boxes = count * boxes_met(op.shape, own.boxes, busiest,
                                   [&](std::size_t d) { return coordinates(own.mesh, made.cut[d]); });
  if (ready[busiest] > 0) boxes -= 1;
  Traffic traffic = all.empty() ? Traffic{} : all[busiest];
  traffic.messages = boxes;
  return worst + seconds_of_messages(traffic, inputs.machine) + inputs.machine.task_overhead;
}

std::vector<double> partial_bytes(const Op& op, const std::vector<Layout>& works, const std::vector<Boxes>& boxes) {
  std::vector<double> bytes;
  const double of_point = op.moves ? entries_of(op) / std::max(1.0, points_of(op)) : 1;
  for (std::size_t w = 0; w < works.size(); ++w) {
    bool split = false;
    for (std::size_t k = op.shape.size(); k < works[w].cut.size(); ++k) split = split || !works[w].cut[k].empty();
    double worst = 0;
    for (std::size_t r = 0; split && r < boxes[w].ranks(); ++r) {
      if (!boxes[w].has[r]) continue;
      worst = std::max(
          worst, assembles(op) ? of_point * counting::points_of(op, boxes[w], r) : output_elements(op, boxes[w], r));
    }
    bytes.push_back(
        worst * (assembles(op) ? entry_bytes(op.shape.size()) : static_cast<double>(op.outputs.front().element.bytes)));
  }
  return bytes;
}

}  // namespace tdsl::plan
