#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "codegen/loops/fused_nest_builder.h"
#include "codegen/loops/matrix_product.h"

namespace tdsl::codegen {

namespace {

using Member = FusedKernel::Member;

/// The tensor whose elements the member compares one by one along one label: `argmin[c](D[i, c])`.
const ir::Read* compares(const Member& m) {
  const ir::Compute& c = m.compute;
  const bool plain = c.monoid && ir::locates(*c.monoid) && !c.guard && !m.walks() && c.reduce.size() == 1 &&
                     c.out.size() == m.shared.size() && !m.closes();
  return plain ? std::get_if<ir::Read>(&c.bodies[0]->op) : nullptr;
}

/// True for a reduction by a built-in operator whose elements are floats, one line per row.
bool is_line_of_sums(const Member& m) {
  const ir::Compute& c = m.compute;
  return c.monoid && !ir::locates(*c.monoid) && c.monoid->kind != ir::Monoid::Kind::kUser && !c.guard && !m.walks() &&
         !m.closes() && ir::is_float(m.type) && c.out.size() == m.shared.size() + 1 && !matrix_product(m);
}

bool reads(const Member& m, ValueId v) {
  bool found = false;
  ir::for_each_read(m.compute, [&](const ir::Read& r) { found = found || r.tensor == v; });
  return found;
}

bool same_range(const ir::Label& a, const ir::Label& b) { return a.begin == b.begin && a.end == b.end; }

}  // namespace

void FusedNestBuilder::find_positions() {
  for (const Member& m : fused_.members) {
    const ir::Read* read = compares(m);
    if (read == nullptr) continue;
    const auto elements =
        std::ranges::find_if(fused_.members, [&](const Member& e) { return e.value == read->tensor; });
    if (elements == fused_.members.end() || is_result(*elements) || !is_line_of_sums(*elements)) continue;
    std::vector<std::int32_t> labels(elements->compute.out.size());
    std::iota(labels.begin(), labels.end(), 0);
    const auto readers =
        std::ranges::count_if(fused_.members, [&](const Member& reader) { return reads(reader, elements->value); });
    if (readers == 1 && elements->shared == m.shared && is_read(*m.compute.bodies[0], labels, elements->type) &&
        same_range(m.compute.reduce[0], elements->compute.out.back()) && blocking_of(*elements))
      compared_[m.value] = &*elements;
  }
}

const FusedKernel::Member* FusedNestBuilder::compared_by(const Member& m) const {
  const auto found = compared_.find(m.value);
  return found == compared_.end() ? nullptr : found->second;
}

bool FusedNestBuilder::is_compared(const Member& m) const {
  return std::ranges::any_of(compared_, [&](const auto& entry) { return entry.second == &m; });
}

void FusedNestBuilder::positions(const Member& m, const Member& elements) {
  compute_ = &elements.compute;
  labels_ = indices_of(elements);
  blocked_ = true;
  nest::Place place{values_.at(m.value), {}};
  for (std::size_t l = is_local(place.variable) ? outer_ : 0; l < m.compute.out.size(); ++l)
    place.subscripts.push_back(ir::index_ref(labels_[l]));
  nest::BlockedReduction s = blocked_reduction(elements.compute, *blocking_of(elements), {}, std::move(place));
  s.position = nest::BlockedReduction::Position{m.compute.monoid->kind, identity(elements)};
  add(std::move(s));
}

}  // namespace tdsl::codegen
