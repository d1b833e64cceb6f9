#include "runtime/plan/lists.h"

#include <algorithm>

namespace tdsl::plan {

namespace {

/// True if the tensor's blocks have their levels in the order of its dimensions, and list their coordinates.
bool stores_coordinates(const PlacedTensor& tensor) {
  const Storage& storage = tensor.desc.storage;
  return storage.sized() && storage.order.empty() && !storage.entries && tensor.housing.home == Home::kMemory;
}

bool is_spread(const Distribution& where) {
  if (where.rank() == 0 || where.everywhere() || where.tiling(0).tiles() < 2) return false;
  return !where.by_axes() || where.grid_dims()[0].size() > 1;
}

}  // namespace

std::optional<Walk> walk_of(const Op& op, const Access& access, const TensorLookup& tensors) {
  if (access.dims.empty()) return std::nullopt;
  const DimAccess& first = access.dims[0];
  if (first.whole || first.divisor != 1 || first.offset.size() != 1 || first.terms.size() != 1 ||
      first.terms[0].coefficient != 1)
    return std::nullopt;
  for (std::size_t k = 0; k < op.reads.size(); ++k) {
    const std::vector<DimAccess>& dims = op.reads[k].dims;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].walked == first.terms[0].label && stores_coordinates(tensors(op.reads[k].tensor)))
        return Walk{k, static_cast<int>(d), first.offset.lo};
    }
  }
  return std::nullopt;
}

bool by_lists(const Op& op, const OpPlan& plan, const TensorLookup& tensors, TensorId operand) {
  const auto is_walked = [](const Access& access) {
    return std::ranges::any_of(access.dims, [](const DimAccess& dim) { return dim.walked >= 0; });
  };
  if (plan.ranks_per_node > 1 || std::ranges::none_of(op.reads, is_walked)) return false;
  const PlacedTensor& tensor = tensors(operand);
  if (tensor.desc.sized() || tensor.housing.home != Home::kMemory || !is_spread(tensor.distribution)) return false;
  const bool steps = std::ranges::any_of(plan.reduce, [](const Tiling& tiling) { return tiling.tiles() > 1; }) ||
                     std::ranges::any_of(plan.super_block, [](Index edge) { return edge > 0; });
  const Access* listed = nullptr;
  bool several = false;
  for (const Access& access : op.reads) {
    if (access.tensor != operand) continue;
    several = several || (listed != nullptr && !(*listed == access));
    if (listed == nullptr || !walk_of(op, *listed, tensors)) listed = &access;
  }
  // A piece that one step fetches by a list may be needed whole by another access in a later one.
  return listed != nullptr && walk_of(op, *listed, tensors) && !(several && steps);
}

}  // namespace tdsl::plan
