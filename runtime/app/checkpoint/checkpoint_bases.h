#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/checkpoint/manifest.h"

// Which tensors are in which base. Loop invariants are as they are from checkpoint to checkpoint, and may be most of
// what there is. A tensor never changes (its successor has another number), so one that has a name at two boundaries in
// a row has lasted an iteration and will probably last. It goes to the base of the next checkpoint, and later ones
// refer to it there.

namespace tdsl::rt {

/// Equal on all ranks, but for `Base::files`, which rank 0 knows.
class CheckpointBases {
 public:
  /// The program is at a boundary, or was when it was saved; tensors recorded from now on have this number and later
  /// ones.
  void at_boundary(plan::TensorId next) {
    before_ = last_;
    last_ = next;
  }
  /// A run goes on in the directory of its checkpoint.
  void goes_on(const checkpoint::Manifest& manifest) { take(manifest); }
  /// Says of a tensor which base has its blocks, or that the one of this checkpoint will have them; returns whether
  /// they are to be written.
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
  /// Completes the manifest by the bases that its tensors refer to. `files`: those of its own base.
  void list(checkpoint::Manifest& manifest, const std::vector<checkpoint::FileSeal>& files) const {
    std::map<std::int64_t, std::vector<checkpoint::FileSeal>> referred;
    for (const checkpoint::LiveTensor& tensor : manifest.tensors) {
      if (tensor.base != 0) referred[tensor.base] = tensor.base == manifest.number ? files : files_.at(tensor.base);
    }
    manifest.bases.clear();
    for (auto& [number, list] : referred) manifest.bases.push_back({number, std::move(list)});
  }
  /// The checkpoint has its name.
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
  plan::TensorId before_ = 0;  ///< numbers below were given before the boundary before this one
  plan::TensorId last_ = 0;    ///< before this one
  std::map<plan::TensorId, Place> tensors_;
  std::map<std::int64_t, std::vector<checkpoint::FileSeal>> files_;
};

}  // namespace tdsl::rt
