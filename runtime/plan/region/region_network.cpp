#include "runtime/plan/region/region_network.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "runtime/plan/cost/transfers.h"

namespace tdsl::plan {

using counting::Boxes;

std::vector<Index> mesh_sample(const Mesh& mesh, bool whole_nodes) {
  const Index p = mesh.ranks();
  std::vector<Index> ranks;
  if (p <= 32) {
    for (Index rank = 0; rank < p; ++rank) ranks.push_back(rank);
    return ranks;
  }
  ranks.push_back(0);
  for (const MeshAxis& axis : mesh.axes) {
    std::vector<Index> more;
    for (const Index rank : ranks) {
      if (whole_nodes && axis.inside_node) {
        for (Index at = 0; at < axis.size; ++at) more.push_back(rank + at * axis.stride);
        continue;
      }
      for (const Index at : {Index{0}, axis.size / 2, axis.size - 1}) more.push_back(rank + at * axis.stride);
    }
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    ranks = std::move(more);
  }
  return ranks;
}

RegionNetwork::RegionNetwork(const Region& region, const PlanInputs& inputs, Mesh mesh, const ChoiceLimits& limits)
    : region_(region), inputs_(inputs), mesh_(std::move(mesh)), ranks_(mesh_sample(mesh_, inputs.tells_nodes())), choices_(choices_of(region, inputs, mesh_, limits)) {
  for (std::size_t s = 0; s < choices_.sites.size(); ++s) site_number_[choices_.sites[s].site] = s;
  for (const RegionOp& recorded : region_.ops) {
    for (const TensorDesc& output : recorded.op.outputs) producer_[output.id] = {site_number_.at(recorded.op.site), &output};
  }
  add_variables();
  const std::vector<double> weights = merged_weights();
  for (std::size_t k = 0; k < region_.ops.size(); ++k) {
    if (weights[k] > 0) add_operation(k, weights[k]);
  }
  add_memory();
}

/// Whether one operation costs what the other does wherever it runs: most operations of a loop's second iteration do.
bool RegionNetwork::costs_alike(const Op& a, const Op& b) const {
  const auto range = [](const LabelDesc& label) { return std::pair(label.range.lo, label.range.hi); };
  if (a.site != b.site || a.shape != b.shape || a.flops_per_point != b.flops_per_point || a.outputs.size() != b.outputs.size()) return false;
  if (!std::ranges::equal(a.labels, b.labels, {}, range, range)) return false;
  for (std::size_t k = 0; k < a.outputs.size(); ++k) {
    if (a.outputs[k].shape != b.outputs[k].shape) return false;
  }
  return std::ranges::equal(a.reads, b.reads, [&](const Access& x, const Access& y) {
    const auto from_x = producer_.find(x.tensor), from_y = producer_.find(y.tensor);
    if (x.dims != y.dims || from_x == producer_.end() || from_y == producer_.end()) return false;
    return from_x->second.site == from_y->second.site && from_x->second.desc->shape == from_y->second.desc->shape;
  });
}

/// Per operation the weight of all that cost alike, at the first of them; 0 at the others.
std::vector<double> RegionNetwork::merged_weights() const {
  std::vector<double> weights(region_.ops.size(), 0);
  for (const SiteChoices& site : choices_.sites) {
    for (std::size_t n = 0; n < site.ops.size(); ++n) {
      const RegionOp& recorded = region_.ops[site.ops[n]];
      const auto end = site.ops.begin() + static_cast<std::ptrdiff_t>(n);
      const auto first = std::find_if(site.ops.begin(), end, [&](std::size_t k) { return weights[k] > 0 && costs_alike(region_.ops[k].op, recorded.op); });
      weights[first == end ? site.ops[n] : *first] += recorded.weight;
    }
  }
  return weights;
}

std::vector<Layout> RegionNetwork::works(std::size_t site) const {
  const SiteChoices& s = choices_.sites[site];
  if (s.splits) return s.works;
  std::vector<Layout> layouts;
  for (const Place& place : choices_.places[idx(s.place)].places) layouts.push_back(place.layout);
  return layouts;
}

void RegionNetwork::add_variables() {
  for (const PlaceChoices& place : choices_.places) network_.add_variable(static_cast<int>(place.places.size()));
  for (std::size_t s = 0; s < choices_.sites.size(); ++s) {
    const SiteChoices& site = choices_.sites[s];
    if (!site.splits) {
      work_variable_.push_back(site.place);
      continue;
    }
    work_variable_.push_back(network_.add_variable(static_cast<int>(site.works.size())));
    arcs_.push_back({work_variable_.back(), site.place});
  }
}

std::vector<Boxes> RegionNetwork::work_boxes(const Op& op, const std::vector<Layout>& layouts) const {
  const counting::CutSpace space = task_space(op, inputs_);
  std::vector<Boxes> boxes;
  for (Layout layout : layouts) {
    layout.cut.resize(space.extents.size());  // where a reduction is not split, layouts are those of its result
    boxes.push_back(counting::shares_of(space, layout, mesh_, ranks_));
  }
  return boxes;
}

RegionNetwork::PlacedBoxes RegionNetwork::place_boxes(const Op& op, const TensorDesc& tensor, const std::vector<Place>& places) const {
  counting::CutSpace space = task_space(op, inputs_);
  const bool whole = op.op_class == OpClass::kLoop;  // outputs of shapes of their own, each one block
  space.extents = tensor.shape;
  space.tilings.resize(tensor.shape.size());
  if (whole) std::fill(space.tilings.begin(), space.tilings.end(), std::nullopt);
  PlacedBoxes placed;
  const auto number_of = [&](const Layout& layout) {
    std::size_t n = 0;
    while (n < placed.layouts.size() && !(*placed.layouts[n] == layout)) ++n;
    if (n == placed.layouts.size()) {
      Layout fitting = layout;
      fitting.cut.resize(tensor.shape.size());
      placed.layouts.push_back(&layout);
      placed.boxes.push_back(counting::shares_of(space, fitting, mesh_, ranks_));
    }
    return n;
  };
  for (const Place& place : places) placed.own.push_back(number_of(place.layout));
  for (const Place& place : places) placed.copy.push_back(place.copy ? number_of(*place.copy) : SIZE_MAX);
  return placed;
}

void RegionNetwork::add_operation(std::size_t k, double weight) {
  const Op& op = region_.ops[k].op;
  // Effects take tensors from where they lie.
  if (op.op_class == OpClass::kStore || op.op_class == OpClass::kCollect || op.outputs.empty()) return;
  const std::size_t site = site_number_.at(op.site);
  const std::vector<Layout> layouts = works(site);
  const std::vector<Boxes> work = work_boxes(op, layouts);
  const double task = inputs_.machine.task_overhead / inputs_.threads;
  std::vector<double> seconds(work.size());
  for (std::size_t w = 0; w < work.size(); ++w) {
    seconds[w] = weight * (seconds_to_compute(op, work[w], inputs_) + tasks_of(layouts[w], mesh_) * task);
  }
  network_.add(work_variable_[site], seconds);
  add_reads(op, site, weight, work);
  if (choices_.sites[site].splits) add_results(op, site, weight, work);
  add_copies(op, site, weight);
}

void RegionNetwork::add_copies(const Op& op, std::size_t site, double weight) {
  const std::vector<Place>& places = choices_.places[idx(choices_.sites[site].place)].places;
  if (std::none_of(places.begin(), places.end(), [](const Place& place) { return place.copy.has_value(); })) return;
  const TensorDesc& tensor = op.outputs.front();
  const PlacedBoxes boxes = place_boxes(op, tensor, places);
  std::vector<double> seconds(places.size(), 0);
  for (std::size_t v = 0; v < places.size(); ++v) {
    if (!boxes.has_copy(v)) continue;
    const OwnedBoxes own{boxes.boxes[boxes.own[v]], places[v].layout, mesh_, tensor, ranks_};
    seconds[v] = weight * (seconds_to_receive(own, {boxes.boxes[boxes.copy[v]]}, inputs_) + inputs_.machine.task_overhead);
  }
  network_.add(choices_.sites[site].place, seconds);
}

void RegionNetwork::add_reads(const Op& op, std::size_t site, double weight, const std::vector<Boxes>& work) {
  std::map<TensorId, std::vector<const Access*>> accesses;
  for (const Access& access : op.reads) {
    std::vector<const Access*>& list = accesses[access.tensor];
    const bool again = std::any_of(list.begin(), list.end(), [&](const Access* a) { return a->dims == access.dims; });
    if (!again) list.push_back(&access);
  }
  const int reader = work_variable_[site];
  for (const auto& [id, list] : accesses) {
    const auto found = producer_.find(id);
    if (found == producer_.end()) continue;
    const SiteChoices& from = choices_.sites[found->second.site];
    const TensorDesc& tensor = *found->second.desc;
    const std::vector<Place>& places = choices_.places[idx(from.place)].places;
    const PlacedBoxes boxes = place_boxes(region_.ops[from.op].op, tensor, places);
    // Many ways to work need the same of an operand: each need is priced once.
    std::vector<std::vector<Boxes>> needs;
    std::vector<std::size_t> need_of;
    for (const Boxes& mine : work) {
      std::vector<Boxes> need;
      for (const Access* access : list) need.push_back(counting::needs_of(op, *access, tensor.shape, mine));
      std::size_t n = 0;
      while (n < needs.size() && !same_boxes(needs[n], need)) ++n;
      if (n == needs.size()) needs.push_back(std::move(need));
      need_of.push_back(n);
    }
    std::vector<OwnedBoxes> own;
    for (std::size_t l = 0; l < boxes.boxes.size(); ++l) own.push_back({boxes.boxes[l], *boxes.layouts[l], mesh_, tensor, ranks_});
    ReceivingTable receiving(own, needs, inputs_);
    std::vector<double> seconds;  // per layout and need
    for (std::size_t l = 0; l < own.size(); ++l) {
      for (std::size_t n = 0; n < needs.size(); ++n) seconds.push_back(weight * receiving.seconds(l, n));
    }
    std::vector<double> table(places.size() * work.size());
    for (std::size_t v = 0; v < places.size(); ++v) {
      const double* from_own = &seconds[boxes.own[v] * needs.size()];
      const double* from_copy = boxes.has_copy(v) ? &seconds[boxes.copy[v] * needs.size()] : from_own;
      for (std::size_t w = 0; w < work.size(); ++w) table[v * work.size() + w] = std::min(from_own[need_of[w]], from_copy[need_of[w]]);
    }
    if (from.place != reader) {
      network_.add(from.place, reader, std::move(table));
      arcs_.push_back({from.place, reader});
      continue;
    }
    std::vector<double> alone(places.size());
    for (std::size_t v = 0; v < places.size(); ++v) alone[v] = table[v * work.size() + v];
    network_.add(reader, alone);
  }
}

void RegionNetwork::add_results(const Op& op, std::size_t site, double weight, const std::vector<Boxes>& work) {
  const SiteChoices& s = choices_.sites[site];
  const std::vector<Place>& places = choices_.places[idx(s.place)].places;
  const PlacedBoxes boxes = place_boxes(op, op.outputs.front(), places);
  std::vector<const Boxes*> owned, worked;
  for (const Boxes& b : boxes.boxes) owned.push_back(&b);
  for (const Boxes& b : work) worked.push_back(&b);
  counting::CommonVolumes ready(owned, worked, op.shape.size());
  std::vector<double> ready_here;
  std::vector<double> table(work.size() * places.size(), kForbidden);
  for (std::size_t w = 0; w < work.size(); ++w) {
    const Layout& layout = s.works[w];
    const auto reduced = layout.cut.begin() + static_cast<std::ptrdiff_t>(op.shape.size());
    Index parts = 1;
    for (auto axes = reduced; axes != layout.cut.end(); ++axes) parts *= coordinates(mesh_, *axes);
    Layout made = layout;
    made.cut.resize(op.shape.size());
    std::vector<double> seconds(boxes.boxes.size(), -1);  // found where it is wanted
    for (std::size_t v = 0; v < places.size(); ++v) {
      double& cost = table[w * places.size() + v];
      if (parts == 1) {
        if (places[v].layout == made) cost = 0;
        continue;
      }
      double& known = seconds[boxes.own[v]];
      if (known < 0) {
        ready.of(boxes.own[v], w, ready_here);
        const OwnedBoxes own{boxes.boxes[boxes.own[v]], places[v].layout, mesh_, op.outputs.front(), ranks_};
        known = weight * seconds_to_meet(op, own, work[w], ready_here, layout, parts, inputs_);
      }
      cost = known;
    }
  }
  network_.add(work_variable_[site], s.place, std::move(table));
}

void RegionNetwork::add_memory() {
  std::map<TensorId, std::pair<int, std::vector<double>>> live;
  const auto most = [](const Boxes& boxes) {
    double worst = 0;
    for (std::size_t r = 0; r < boxes.ranks(); ++r) worst = std::max(worst, counting::volume(boxes, r));
    return worst;
  };
  const auto enter = [&](TensorId id) {
    const auto found = producer_.find(id);
    if (found == producer_.end() || live.contains(id)) return;
    const SiteChoices& from = choices_.sites[found->second.site];
    const TensorDesc& tensor = *found->second.desc;
    const PlacedBoxes boxes = place_boxes(region_.ops[from.op].op, tensor, choices_.places[idx(from.place)].places);
    std::vector<double> bytes;
    for (std::size_t v = 0; v < boxes.own.size(); ++v) {
      const double copied = boxes.has_copy(v) ? most(boxes.boxes[boxes.copy[v]]) : 0;
      bytes.push_back((most(boxes.boxes[boxes.own[v]]) + copied) * static_cast<double>(tensor.element.bytes));
    }
    live[id] = {from.place, std::move(bytes)};
  };
  int run = 0;
  for (std::size_t k = 0; k < region_.ops.size(); ++k) {
    const RegionOp& recorded = region_.ops[k];
    const Op& op = recorded.op;
    if (recorded.run != run) {
      live.clear();
      run = recorded.run;
    }
    const bool source = op.op_class == OpClass::kSource || op.op_class == OpClass::kLoad;
    if (!source) {  // a source lies nowhere before its first use
      for (const Access& access : op.reads) enter(access.tensor);
      if (op.base >= 0) enter(op.base);
      for (const TensorDesc& output : op.outputs) enter(output.id);
      MemoryLimits::Point point;
      point.name = static_cast<int>(k);
      for (const auto& [id, held] : live) {
        if (op.base == id && std::find(recorded.last_uses.begin(), recorded.last_uses.end(), id) != recorded.last_uses.end()) continue;  // overwritten
        point.terms.push_back({held.first, held.second});
      }
      if (!op.outputs.empty()) {
        const std::size_t site = site_number_.at(op.site);
        if (choices_.sites[site].splits) {
          std::vector<double> bytes = partial_bytes(op, choices_.sites[site].works, work_boxes(op, works(site)));
          point.terms.push_back({work_variable_[site], std::move(bytes)});
        }
      }
      memory_.points.push_back(std::move(point));
    }
    for (const TensorId id : recorded.last_uses) live.erase(id);
  }
}

/// Sites that receive less from the copy of this one's result than from the result itself.
std::vector<int> RegionNetwork::readers_of_copy(std::size_t site, const Assignment& x) const {
  const SiteChoices& from = choices_.sites[site];
  const Place& place = choices_.places[idx(from.place)].places[idx(x[idx(from.place)])];
  std::vector<int> readers;
  for (const RegionOp& recorded : region_.ops) {
    const Op& op = recorded.op;
    if (op.op_class == OpClass::kStore || op.op_class == OpClass::kCollect || op.outputs.empty()) continue;
    const std::size_t reader = site_number_.at(op.site);
    std::vector<Boxes> needs;
    const TensorDesc* tensor = nullptr;
    const Boxes work = work_boxes(op, {works(reader)[idx(x[idx(work_variable_[reader])])]}).front();
    for (const Access& access : op.reads) {
      const auto producer = producer_.find(access.tensor);
      if (producer == producer_.end() || producer->second.site != site) continue;
      tensor = producer->second.desc;
      needs.push_back(counting::needs_of(op, access, tensor->shape, work));
    }
    if (tensor == nullptr) continue;
    const std::vector<Place> one{place};
    const PlacedBoxes boxes = place_boxes(region_.ops[from.op].op, *tensor, one);
    const double own = seconds_to_receive({boxes.boxes[boxes.own[0]], place.layout, mesh_, *tensor, ranks_}, needs, inputs_);
    const double copy = seconds_to_receive({boxes.boxes[boxes.copy[0]], *place.copy, mesh_, *tensor, ranks_}, needs, inputs_);
    if (copy < own && std::find(readers.begin(), readers.end(), op.site) == readers.end()) readers.push_back(op.site);
  }
  std::sort(readers.begin(), readers.end());
  return readers;
}

PlanValue RegionNetwork::plan_of(const Assignment& x) const {
  PlanValue plan;
  plan.region = region_.hash;
  plan.ranks = inputs_.ranks;
  plan.mesh = mesh_;
  for (std::size_t s = 0; s < choices_.sites.size(); ++s) {
    const SiteChoices& site = choices_.sites[s];
    if (site.fixed) continue;
    const Op& op = region_.ops[site.op].op;
    Layout work = works(s)[idx(x[idx(work_variable_[s])])];
    const Place& place = choices_.places[idx(site.place)].places[idx(x[idx(site.place)])];
    work.cut.resize(op.shape.size() + op.reduce.size());
    Decision decision{name_of(op.op_class), op.name, text_of(work, slot_names(op)), {}, {}, {}};
    bool split = false;
    for (std::size_t k = op.shape.size(); k < work.cut.size(); ++k) split = split || !work.cut[k].empty();
    if (split) decision.result = text_of(place.layout, result_names(op));
    if (place.copy) decision.readers = readers_of_copy(s, x);
    if (!decision.readers.empty()) decision.copy = text_of(*place.copy, result_names(op));
    plan.at.emplace(site.site, std::move(decision));
  }
  return plan;
}

}  // namespace tdsl::plan
