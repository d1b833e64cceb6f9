#include "runtime/plan/region/region_network.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "runtime/plan/cost/transfers.h"
#include "runtime/plan/signature.h"

namespace tdsl::plan {

using counting::Boxes;

namespace {

/// Limit on ranks sampled because a tensor may be on one of them alone.
constexpr std::size_t kSampledHomes = 8;

}  // namespace

std::vector<Index> mesh_sample(const Mesh& mesh, bool whole_nodes) {
  const Index p = mesh.ranks();
  std::vector<Index> ranks;
  if (p <= 32) {
    for (Index rank = 0; rank < p; ++rank) ranks.push_back(rank);
    return ranks;
  }
  ranks.push_back(0);
  Index middle = 0;
  for (const MeshAxis& axis : mesh.axes) {
    const std::vector<Index> before = ranks;
    const bool all = whole_nodes && axis.inside_node;
    for (Index at = all ? 1 : axis.size - 1; at < axis.size; ++at) {
      for (const Index rank : before) ranks.push_back(rank + at * axis.stride);
    }
    if (!all) middle += axis.size / 2 * axis.stride;
  }
  // Besides the corners, one rank with neighbours on all sides, with its node.
  const std::size_t corners = ranks.size();
  for (std::size_t k = 0; k < corners; ++k) {
    const bool first_node = std::all_of(mesh.axes.begin(), mesh.axes.end(), [&](const MeshAxis& axis) {
      return (whole_nodes && axis.inside_node) || axis.coordinate(ranks[k]) == 0;
    });
    if (first_node) ranks.push_back(ranks[k] + middle);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

RegionNetwork::RegionNetwork(const Region& region, const PlanInputs& inputs, Mesh mesh, const ChoiceLimits& limits,
                             CostTables* tables)
    : region_(region),
      inputs_(inputs),
      mesh_(std::move(mesh)),
      choices_(choices_of(region, inputs, mesh_, limits)),
      tables_(tables != nullptr ? *tables : own_tables_) {
  tables_.trim();
  choose_ranks();
  for (std::size_t s = 0; s < choices_.sites.size(); ++s) site_number_[choices_.sites[s].site] = s;
  for (const RegionOp& recorded : region_.ops) {
    for (const TensorDesc& output : recorded.op.outputs)
      producer_[output.id] = {site_number_.at(recorded.op.site), &output};
  }
  add_variables();
  const std::vector<double> weights = merged_weights();
  for (std::size_t k = 0; k < region_.ops.size(); ++k) {
    if (weights[k] > 0) add_operation(k, weights[k]);
  }
  add_memory();
  placed_.clear();
}

void RegionNetwork::choose_ranks() {
  ranks_ = mesh_sample(mesh_, inputs_.tells_nodes());
  if (inputs_.tells_nodes()) return;
  // Ranks that may be sole owners.
  std::set<Index> homes;
  for (const PlaceChoices& place : choices_.places) {
    for (const Place& p : place.places) {
      if (p.layout.whole() && !p.layout.repeated && homes.size() < kSampledHomes) homes.insert(p.layout.home);
    }
  }
  homes.insert(ranks_.begin(), ranks_.end());
  ranks_ = {homes.begin(), homes.end()};
}

/// True if two operations have equal costs under every placement: usually so for the operations of a loop's second
/// iteration.
bool RegionNetwork::costs_alike(const Op& a, const Op& b) const {
  const auto range = [](const LabelDesc& label) { return std::pair(label.range.lo, label.range.hi); };
  if (a.site != b.site || a.shape != b.shape || a.flops_per_point != b.flops_per_point ||
      a.outputs.size() != b.outputs.size())
    return false;
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

/// For each set of operations with equal costs, the total weight at the first; 0 at the others.
std::vector<double> RegionNetwork::merged_weights() const {
  std::vector<double> weights(region_.ops.size(), 0);
  for (const SiteChoices& site : choices_.sites) {
    for (std::size_t n = 0; n < site.ops.size(); ++n) {
      const RegionOp& recorded = region_.ops[site.ops[n]];
      const auto end = site.ops.begin() + static_cast<std::ptrdiff_t>(n);
      const auto first = std::find_if(site.ops.begin(), end, [&](std::size_t k) {
        return weights[k] > 0 && costs_alike(region_.ops[k].op, recorded.op);
      });
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
  std::string setting;  // common key of all tables
  for (const MeshAxis& axis : mesh_.axes) append_number(setting, axis.size), append_number(setting, axis.stride);
  for (const Index rank : ranks_) append_number(setting, rank);
  const std::string list = std::to_string(tables_.number_of(setting)) + ':';
  for (const PlaceChoices& place : choices_.places)
    place_list_.push_back(tables_.number_of(list + cost_text(place.places)));
  for (std::size_t s = 0; s < choices_.sites.size(); ++s)
    work_list_.push_back(tables_.number_of(list + cost_text(works(s))));
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
    layout.cut.resize(space.extents.size());  // unless a reduction is split, layouts are those of its result
    boxes.push_back(counting::shares_of(space, layout, mesh_, ranks_));
  }
  return boxes;
}

RegionNetwork::Worked RegionNetwork::worked(const Op& op, std::size_t site) const {
  return {op, site, std::to_string(work_list_[site]) + '|' + cost_text(op)};
}

void RegionNetwork::find_boxes(Worked& work) const {
  if (!work.boxes.empty()) return;
  work.layouts = works(work.site);
  work.boxes = work_boxes(work.op, work.layouts);
}

void RegionNetwork::add(int variable, double weight, const CostTables::Table& table) {
  CostTables::Table weighted = table;
  for (double& cost : weighted) cost *= weight;
  network_.add(variable, weighted);
}

const RegionNetwork::PlacedBoxes& RegionNetwork::placed_boxes(const SiteChoices& site, const TensorDesc& tensor) {
  const Op& op = region_.ops[site.op].op;
  std::string name = std::to_string(place_list_[idx(site.place)]) + (op.op_class == OpClass::kLoop ? 'l' : 'o');
  for (const Index extent : tensor.shape) append_number(name, extent);
  for (const Index edge : op.tile) name += 't', append_number(name, edge);
  const auto [known, fresh] = placed_.try_emplace(std::move(name));
  if (fresh) known->second = place_boxes(op, tensor, choices_.places[idx(site.place)].places);
  return known->second;
}

RegionNetwork::PlacedBoxes RegionNetwork::place_boxes(const Op& op, const TensorDesc& tensor,
                                                      const std::vector<Place>& places) const {
  counting::CutSpace space = task_space(op, inputs_);
  const bool whole = op.op_class == OpClass::kLoop;  // outputs have their own shapes, each a single block
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
      placed.numbers.push_back(tables_.number_of(cost_text(layout)));
    }
    return n;
  };
  for (const Place& place : places) placed.own.push_back(number_of(place.layout));
  for (const Place& place : places) placed.copy.push_back(place.copy ? number_of(*place.copy) : SIZE_MAX);
  return placed;
}

void RegionNetwork::add_operation(std::size_t k, double weight) {
  const Op& op = region_.ops[k].op;
  // Effects read tensors in place.
  if (op.op_class == OpClass::kStore || op.op_class == OpClass::kCollect || op.outputs.empty()) return;
  const std::size_t site = site_number_.at(op.site);
  Worked work = worked(op, site);
  const DescOf desc_of = [this](TensorId id) {
    const auto found = producer_.find(id);
    return found == producer_.end() ? nullptr : found->second.desc;
  };
  std::string name = "w|" + work.name;
  for (const Access& access : op.reads) {
    const TensorDesc* const tensor = desc_of(access.tensor);
    if (tensor == nullptr) continue;
    append_storage(name, *tensor);
    if (!op.by_rows && !tensor->sized()) continue;
    for (const Index extent : tensor->shape) append_number(name, extent);
  }
  add(work_variable_[site], weight, tables_.table(name, [&] {
    find_boxes(work);
    CostTables::Table seconds;
    for (std::size_t w = 0; w < work.boxes.size(); ++w) {
      seconds.push_back(seconds_to_compute(op, work.boxes[w], inputs_, desc_of) +
                        seconds_of_tasks(tasks_of(work.layouts[w], mesh_), inputs_.machine, inputs_.threads));
    }
    return seconds;
  }));
  add_reads(work, weight);
  if (choices_.sites[site].splits) add_results(work, weight);
  add_copies(work, weight);
}

void RegionNetwork::add_copies(const Worked& work, double weight) {
  const int variable = choices_.sites[work.site].place;
  const std::vector<Place>& places = choices_.places[idx(variable)].places;
  if (std::none_of(places.begin(), places.end(), [](const Place& place) { return place.copy.has_value(); })) return;
  add(variable, weight, tables_.table("c|" + std::to_string(place_list_[idx(variable)]) + '|' + work.name, [&] {
    const TensorDesc& tensor = work.op.outputs.front();
    const PlacedBoxes boxes = place_boxes(work.op, tensor, places);
    CostTables::Table seconds(places.size(), 0);
    for (std::size_t v = 0; v < places.size(); ++v) {
      if (!boxes.has_copy(v)) continue;
      const OwnedBoxes own{boxes.boxes[boxes.own[v]], places[v].layout, mesh_, tensor, ranks_};
      seconds[v] = seconds_to_receive(own, {boxes.boxes[boxes.copy[v]]}, inputs_) + inputs_.machine.task_overhead;
    }
    return seconds;
  }));
}

RegionNetwork::Worked RegionNetwork::met(const Op& op, std::size_t site) const {
  const int place = choices_.sites[site].place;
  Worked met{op, site, "p" + std::to_string(place_list_[idx(place)]) + '|' + cost_text(op)};
  for (const Place& p : choices_.places[idx(place)].places) met.layouts.push_back(p.layout);
  met.boxes = work_boxes(op, met.layouts);
  return met;
}

void RegionNetwork::add_reads(Worked& work, double weight) {
  const Op& op = work.op;
  const SiteChoices& site = choices_.sites[work.site];
  const bool apart = site.splits && !op.epilogue_reads().empty();
  add_reads(work, apart ? op.own_reads() : std::span<const Access>(op.reads), work_variable_[work.site], weight);
  if (!apart) return;
  Worked result = met(op, work.site);
  add_reads(result, op.epilogue_reads(), site.place, weight);
}

void RegionNetwork::add_reads(Worked& work, std::span<const Access> reads, int reader, double weight) {
  std::map<TensorId, std::vector<const Access*>> accesses;
  for (const Access& access : reads) {
    std::vector<const Access*>& list = accesses[access.tensor];
    const bool again = std::any_of(list.begin(), list.end(), [&](const Access* a) { return a->dims == access.dims; });
    if (!again) list.push_back(&access);
  }
  for (const auto& [id, list] : accesses) {
    const auto found = producer_.find(id);
    if (found == producer_.end()) continue;
    const SiteChoices& from = choices_.sites[found->second.site];
    std::string name(1, region_.ops[from.op].op.op_class == OpClass::kLoop ? 'l' : 'o');
    for (const Index edge : region_.ops[from.op].op.tile) name += 't', append_number(name, edge);
    append_number(name, found->second.desc->element.bytes);
    append_storage(name, *found->second.desc);
    for (const Index extent : found->second.desc->shape) append_number(name, extent);
    for (const Access* access : list) name += 'a', append_number(name, access - work.op.reads.data());
    name += '|' + work.name;
    CostTables::Table table = tables_.table("r|" + std::to_string(place_list_[idx(from.place)]) + name, [&] {
      return reading_table(work, found->second, list, tables_.reading(name));
    });
    for (double& cost : table) cost *= weight;
    if (from.place != reader) {
      network_.add(from.place, reader, std::move(table));
      arcs_.push_back({from.place, reader});
      continue;
    }
    const std::size_t n = choices_.places[idx(from.place)].places.size();
    std::vector<double> alone(n);
    for (std::size_t v = 0; v < n; ++v) alone[v] = table[v * n + v];
    network_.add(reader, alone);
  }
}

/// Needs of an operand per work layout. Many coincide: each distinct need is priced once.
void RegionNetwork::find_needs(Worked& work, const std::vector<Index>& shape,
                               const std::vector<const Access*>& accesses, ReadingCosts& costs) const {
  find_boxes(work);
  for (const Boxes& mine : work.boxes) {
    std::vector<Boxes> need;
    for (const Access* access : accesses) need.push_back(counting::needs_of(work.op, *access, shape, mine));
    std::size_t n = 0;
    while (n < costs.needs.size() && !same_boxes(costs.needs[n], need)) ++n;
    if (n == costs.needs.size()) costs.needs.push_back(std::move(need));
    costs.need_of.push_back(n);
  }
}

/// Seconds to receive one operand: its places x work layouts.
CostTables::Table RegionNetwork::reading_table(Worked& work, const Producer& producer,
                                               const std::vector<const Access*>& accesses, ReadingCosts& costs) {
  const SiteChoices& from = choices_.sites[producer.site];
  const TensorDesc& tensor = *producer.desc;
  if (costs.need_of.empty()) find_needs(work, tensor.shape, accesses, costs);
  const PlacedBoxes& boxes = placed_boxes(from, tensor);
  std::vector<OwnedBoxes> own;  // boxes of new layouts
  std::vector<Index> numbers;
  for (std::size_t l = 0; l < boxes.boxes.size(); ++l) {
    if (costs.seconds.contains(boxes.numbers[l])) continue;
    own.push_back({boxes.boxes[l], *boxes.layouts[l], mesh_, tensor, ranks_});
    numbers.push_back(boxes.numbers[l]);
  }
  ReceivingTable receiving(own, costs.needs, inputs_);
  for (std::size_t l = 0; l < own.size(); ++l) {
    std::vector<double>& seconds = costs.seconds[numbers[l]];
    for (std::size_t n = 0; n < costs.needs.size(); ++n) seconds.push_back(receiving.seconds(l, n));
    tables_.count(seconds.size());
  }
  std::vector<const double*> rows;  // per layout
  for (const Index number : boxes.numbers) rows.push_back(costs.seconds.at(number).data());
  CostTables::Table table;
  table.reserve(boxes.own.size() * costs.need_of.size());
  for (std::size_t v = 0; v < boxes.own.size(); ++v) {
    const double* from_own = rows[boxes.own[v]];
    const double* from_copy = boxes.has_copy(v) ? rows[boxes.copy[v]] : from_own;
    for (const std::size_t n : costs.need_of) table.push_back(std::min(from_own[n], from_copy[n]));
  }
  return table;
}

void RegionNetwork::add_results(Worked& work, double weight) {
  const int place = choices_.sites[work.site].place;
  CostTables::Table table = tables_.table("m|" + std::to_string(place_list_[idx(place)]) + '|' + work.name,
                                          [&] { return meeting_table(work); });
  for (double& cost : table) cost *= weight;  // forbidden entries stay forbidden
  network_.add(work_variable_[work.site], place, std::move(table));
}

/// Seconds to combine partial results: work layouts x places of the result.
CostTables::Table RegionNetwork::meeting_table(Worked& work) {
  find_boxes(work);
  const Op& op = work.op;
  const std::vector<Place>& places = choices_.places[idx(choices_.sites[work.site].place)].places;
  const PlacedBoxes boxes = place_boxes(op, op.outputs.front(), places);
  std::vector<const Boxes*> owned, worked;
  for (const Boxes& b : boxes.boxes) owned.push_back(&b);
  for (const Boxes& b : work.boxes) worked.push_back(&b);
  counting::CommonVolumes ready(owned, worked, op.shape.size());
  std::vector<double> ready_here;
  CostTables::Table table(work.boxes.size() * places.size(), kForbidden);
  for (std::size_t w = 0; w < work.boxes.size(); ++w) {
    const Layout& layout = work.layouts[w];
    const auto reduced = layout.cut.begin() + static_cast<std::ptrdiff_t>(op.shape.size());
    Index parts = 1;
    for (auto axes = reduced; axes != layout.cut.end(); ++axes) parts *= coordinates(mesh_, *axes);
    Layout made = layout;
    made.cut.resize(op.shape.size());
    std::vector<double> seconds(boxes.boxes.size(), -1);  // computed on demand
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
        known = seconds_to_meet(op, own, work.boxes[w], ready_here, layout, parts, inputs_);
      }
      cost = known;
    }
  }
  return table;
}

void RegionNetwork::add_memory() {
  std::map<TensorId, std::pair<int, std::vector<double>>> live;
  const auto most = [](const Boxes& boxes) {
    double worst = 0;
    for (std::size_t r = 0; r < boxes.ranks(); ++r) worst = std::max(worst, counting::volume(r, boxes));
    return worst;
  };
  const auto enter = [&](TensorId id) {
    const auto found = producer_.find(id);
    if (found == producer_.end() || live.contains(id)) return;
    const SiteChoices& from = choices_.sites[found->second.site];
    const TensorDesc& tensor = *found->second.desc;
    const PlacedBoxes& boxes = placed_boxes(from, tensor);
    std::vector<double> bytes;
    for (std::size_t v = 0; v < boxes.own.size(); ++v) {
      const double copied = boxes.has_copy(v) ? most(boxes.boxes[boxes.copy[v]]) : 0;
      bytes.push_back((most(boxes.boxes[boxes.own[v]]) + copied) * tensor.mean_bytes());
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
    const bool source = op.is_source();
    if (!source) {  // a source has no place before its first use
      for (const Access& access : op.reads) enter(access.tensor);
      if (op.base >= 0) enter(op.base);
      for (const TensorDesc& output : op.outputs) enter(output.id);
      MemoryLimits::Point point;
      point.name = static_cast<int>(k);
      for (const auto& [id, held] : live) {
        if (op.base == id &&
            std::find(recorded.last_uses.begin(), recorded.last_uses.end(), id) != recorded.last_uses.end())
          continue;  // overwritten
        point.terms.push_back({held.first, held.second});
      }
      if (!op.outputs.empty()) {
        const std::size_t site = site_number_.at(op.site);
        if (choices_.sites[site].splits) {
          Worked work = worked(op, site);
          point.terms.push_back({work_variable_[site], tables_.table("p|" + work.name, [&] {
                                   find_boxes(work);
                                   return partial_bytes(op, work.layouts, work.boxes);
                                 })});
        }
      }
      memory_.points.push_back(std::move(point));
    }
    for (const TensorId id : recorded.last_uses) live.erase(id);
  }
}

/// Sites that receive less from the copy of this site's result than from the result itself.
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
    const SiteChoices& reading = choices_.sites[reader];
    const bool apart = reading.splits && !op.epilogue_reads().empty();
    const Boxes result =
        apart ? work_boxes(op, {choices_.places[idx(reading.place)].places[idx(x[idx(reading.place)])].layout}).front()
              : work;
    for (const Access& access : op.reads) {
      const auto producer = producer_.find(access.tensor);
      if (producer == producer_.end() || producer->second.site != site) continue;
      tensor = producer->second.desc;
      const bool after = static_cast<std::size_t>(&access - op.reads.data()) >= op.own_reads().size();
      needs.push_back(counting::needs_of(op, access, tensor->shape, after ? result : work));
    }
    if (tensor == nullptr) continue;
    const std::vector<Place> one{place};
    const PlacedBoxes boxes = place_boxes(region_.ops[from.op].op, *tensor, one);
    const double own =
        seconds_to_receive({boxes.boxes[boxes.own[0]], place.layout, mesh_, *tensor, ranks_}, needs, inputs_);
    const double copy =
        seconds_to_receive({boxes.boxes[boxes.copy[0]], *place.copy, mesh_, *tensor, ranks_}, needs, inputs_);
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
