#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/checkpoint/manifest.h"

// Assigns tensors to bases. Loop invariants do not change between checkpoints and may be most of the data. A tensor is
// immutable (its successor has another id), so one that is named at two consecutive boundaries has survived an
// iteration and will probably survive the next one. It goes to the base of the next checkpoint, and later checkpoints
// refer to it there.

namespace tdsl::rt {

/// Equal on all ranks, except `Base::files`, which only rank 0 has.
class CheckpointBases {
 public:
  /// Called at each boundary, also at the one a saved run was at. Tensors recorded from now on have ids from `next` on.
  void at_boundary(plan::TensorId next) {
    before_ = last_;
    last_ = next;
  }
  /// Continues in the directory of the checkpoint that the run resumes from.
  void goes_on(const checkpoint::Manifest& manifest) { take(manifest); }
  /// Assigns the tensor to an earlier base, or to the base of this checkpoint. Returns whether its blocks must be
  /// written.
  bool assign(checkpoint::LiveTensor& tensor, std::int64_t checkpoint) const {
    const auto found = tensors_.find(tensor.known.desc.id);
    if (found == tensors_.end()) {
      tensor.base = tensor.known.desc.id < before_ ? checkpoint : 0;
      return true;
    }
    tensor.base = found->second.base;
    tensor.saved = found->second.saved;
    return false;
  }
  /// Adds the bases that the manifest's tensors refer to. `files`: those of this checkpoint's own base.
  void list(checkpoint::Manifest& manifest, const std::vector<checkpoint::FileSeal>& files) const {
    std::map<std::int64_t, std::vector<checkpoint::FileSeal>> referred;
    for (const checkpoint::LiveTensor& tensor : manifest.tensors) {
      if (tensor.base != 0) referred[tensor.base] = tensor.base == manifest.number ? files : files_.at(tensor.base);
    }
    manifest.bases.clear();
    for (auto& [number, list] : referred) manifest.bases.push_back({number, std::move(list)});
  }
  /// Called once the checkpoint has its final name.
  void take(const checkpoint::Manifest& manifest) {
    tensors_.clear();
    files_.clear();
    for (const checkpoint::Base& base : manifest.bases) files_.emplace(base.number, base.files);
    for (const checkpoint::LiveTensor& tensor : manifest.tensors) {
      if (tensor.base != 0) tensors_.emplace(tensor.known.desc.id, Place{tensor.base, tensor.saved});
    }
  }

 private:
  struct Place {
    std::int64_t base = 0;
    plan::Distribution saved;
  };
  plan::TensorId before_ = 0;  ///< tensors with smaller ids existed at the boundary before the last
  plan::TensorId last_ = 0;    ///< tensors with smaller ids existed at the last boundary
  std::map<plan::TensorId, Place> tensors_;
  std::map<std::int64_t, std::vector<checkpoint::FileSeal>> files_;
};

}  // namespace tdsl::rt
