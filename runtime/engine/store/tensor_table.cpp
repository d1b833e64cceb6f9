#include "runtime/engine/store/tensor_table.h"

#include <string>
#include <utility>

#include "runtime/check.h"

namespace tdsl::rt {

TensorInstance& TensorTable::add(plan::PlacedTensor placed) {
  const plan::TensorId id = placed.desc.id;
  auto instance = std::make_unique<TensorInstance>();
  instance->placed = std::move(placed);
  if (instance->placed.housing.home != plan::Home::kMemory) instance->first_away = instance->placed.first_away(rank_);
  instance->incomplete = instance->placed.distribution.owned_tiles(rank_);
  const auto [entry, added] = tensors_.emplace(id, std::move(instance));
  TDSL_CHECK(added, "tensor " + std::to_string(id) + " is computed twice");
  return *entry->second;
}

TensorInstance* TensorTable::find(plan::TensorId id) {
  const auto found = tensors_.find(id);
  return found == tensors_.end() ? nullptr : found->second.get();
}

TensorInstance& TensorTable::at(plan::TensorId id) {
  TensorInstance* const instance = find(id);
  TDSL_CHECK(instance != nullptr, "tensor " + std::to_string(id) + " is used but was never computed, or is gone");
  return *instance;
}

Block& TensorTable::block(TensorInstance& tensor, plan::Index number) {
  const auto found = tensor.blocks.find(number);
  if (found != tensor.blocks.end()) return found->second;
  TDSL_CHECK(tensor.incomplete > 0, "block " + std::to_string(number) + " of tensor " + std::to_string(tensor.id()) +
                                        " is used after it was freed");
  return tensor.blocks[number];
}

void TensorTable::free_if_unheld(TensorInstance& tensor, plan::Index number) {
  if (tensor.named || tensor.readers > 0) return;
  const auto found = tensor.blocks.find(number);
  if (found == tensor.blocks.end()) return;
  if (!found->second.unheld()) return;
  tensor.blocks.erase(found);
  forget_if_over(tensor);
}

void TensorTable::free_unheld(TensorInstance& tensor) {
  if (tensor.named || tensor.readers > 0) return;
  std::erase_if(tensor.blocks, [](const auto& entry) { return entry.second.unheld(); });
  forget_if_over(tensor);
}

void TensorTable::forget_if_over(TensorInstance& tensor) {
  if (!tensor.named && tensor.readers == 0 && tensor.incomplete == 0 && tensor.blocks.empty())
    tensors_.erase(tensor.id());
}

void TensorTable::drop_name(plan::TensorId id) {
  TensorInstance& tensor = at(id);
  TDSL_CHECK(tensor.named, "the name of tensor " + std::to_string(id) + " is dropped twice");
  tensor.named = false;
  free_unheld(tensor);
}

void TensorTable::drop_reader(TensorInstance& tensor) {
  --tensor.readers;
  free_unheld(tensor);
}

plan::Index TensorTable::live_blocks() const {
  plan::Index blocks = 0;
  for (const auto& [id, tensor] : tensors_) blocks += static_cast<plan::Index>(tensor->blocks.size());
  return blocks;
}

}  // namespace tdsl::rt
