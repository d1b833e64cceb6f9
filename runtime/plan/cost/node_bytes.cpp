#include "runtime/plan/cost/node_bytes.h"

#include <algorithm>

#include "runtime/plan/cost/panel_cuts.h"

namespace tdsl::plan::counting {

namespace {

using Lists = std::vector<Intervals>;

/// Adds a member's intervals to the union, dimension by dimension.
void unite(Lists& all, const Lists& more) {
  all.resize(more.size());
  for (std::size_t d = 0; d < more.size(); ++d) {
    all[d].insert(all[d].end(), more[d].begin(), more[d].end());
    tidy(all[d]);
    all[d] = merged(all[d]);
  }
}

double volume_of(const Lists& lists) {
  return volume_over(lists.size(), [&](std::size_t d) { return total(lists[d]); });
}

Lists common_lists(const Lists& a, const Lists& b) {
  Lists both;
  for (std::size_t d = 0; d < a.size(); ++d) both.push_back(common(a[d], b[d]));
  return both;
}

/// Elements needed but not owned by any member.
double lacking(const std::vector<Lists>& needs, const Lists& own, bool owned) {
  const auto outside = [&](const Lists& need) {
    return volume_of(need) - (owned ? volume_of(common_lists(need, own)) : 0);
  };
  return volume_of_union(
      needs.size(), [&](std::size_t k) { return outside(needs[k]); },
      [&] { return outside(common_lists(needs[0], needs[1])); });
}

}  // namespace

Entering entering(const std::vector<Member>& node, const std::function<bool(std::size_t, std::size_t)>& share_copy) {
  Entering result;
  result.by.resize(node.size(), 0);
  std::vector<char> done(node.size(), 0);
  for (std::size_t first = 0; first < node.size(); ++first) {
    if (done[first] != 0) continue;
    std::vector<std::size_t> group;
    std::vector<Lists> needs;
    Lists own;
    bool owned = false;
    for (std::size_t m = first; m < node.size(); ++m) {
      if (m != first && !share_copy(first, m)) continue;
      done[m] = 1;
      group.push_back(m);
      if (node[m].owns) unite(own, node[m].own);
      owned = owned || node[m].owns;
      needs.resize(std::max(needs.size(), node[m].needs.size()));
      for (std::size_t k = 0; k < node[m].needs.size(); ++k) unite(needs[k], node[m].needs[k]);
    }
    const double all = lacking(needs, own, owned);
    double wanted = 0;
    for (const std::size_t m : group) wanted += result.by[m] = lacking(node[m].needs, own, owned);
    for (const std::size_t m : group) result.by[m] *= wanted > 0 ? all / wanted : 0;
    result.all += all;
  }
  return result;
}

}  // namespace tdsl::plan::counting

namespace tdsl::plan {

using counting::Intervals;

namespace {

/// A rank's needs of a tensor, one per distinct access, and its owned elements.
counting::Member member_of(const counting::RankView& v, const PlacedTensor& tensor, TensorId id, Index rank) {
  counting::Member member;
  const Distribution& where = tensor.distribution;
  member.owns = counting::has_part(where, rank);
  for (int d = 0; d < where.rank(); ++d) {
    member.own.push_back(counting::owned_elements(where, rank, d));
    member.owns = member.owns && !member.own.back().empty();
  }
  for (auto access = v.op.reads.begin(); v.works && access != v.op.reads.end(); ++access) {
    const bool again = std::any_of(v.op.reads.begin(), access,
                                   [&](const Access& a) { return a.tensor == id && a.dims == access->dims; });
    if (access->tensor != id || again) continue;
    std::vector<Intervals>& need = member.needs.emplace_back();
    for (int d = 0; d < where.rank(); ++d) {
      const DimAccess& dim = access->dims[idx(d)];
      const auto panels = counting::PanelCuts::of(v, dim, tensor.desc.shape[idx(d)]);
      need.push_back(panels ? Intervals{panels->elements()}
                            : counting::merged(counting::touched(v, dim, tensor.desc.shape[idx(d)])));
    }
  }
  return member;
}

}  // namespace

Traffic traffic_of(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank, double bytes,
                   double messages, const Machine& machine) {
  Traffic traffic{bytes, messages, plan.ranks_per_node > 1 && machine.tells_nodes(), 0, 0};
  if (!traffic.nodes || op.reads.empty()) return traffic;
  const Index first = rank / plan.ranks_per_node * plan.ranks_per_node;
  std::vector<counting::RankView> views;
  for (Index r = first; r < first + plan.ranks_per_node; ++r) views.push_back(counting::view_of(op, plan, r));
  double once = 0;  // bytes missing on the rank
  std::vector<TensorId> seen;
  for (const Access& access : op.reads) {
    if (std::find(seen.begin(), seen.end(), access.tensor) != seen.end()) continue;
    seen.push_back(access.tensor);
    const PlacedTensor& tensor = tensors(access.tensor);
    std::vector<counting::Member> node;
    for (std::size_t m = 0; m < views.size(); ++m)
      node.push_back(member_of(views[m], tensor, access.tensor, first + static_cast<Index>(m)));
    const counting::Entering enters = counting::entering(node, [&](std::size_t a, std::size_t b) {
      return counting::share_copy(tensor.distribution, first + static_cast<Index>(a), first + static_cast<Index>(b));
    });
    const auto element = static_cast<double>(tensor.desc.element.bytes);
    traffic.entering += enters.all * element;
    traffic.far += enters.by[static_cast<std::size_t>(rank - first)] * element;
    const counting::Entering alone = counting::entering({node[static_cast<std::size_t>(rank - first)]}, nullptr);
    once += alone.all * element;
  }
  const double times = once > 0 && bytes > once ? bytes / once : 1;
  traffic.entering *= times;
  traffic.far = std::min(traffic.far * times, bytes);
  return traffic;
}

}  // namespace tdsl::plan
