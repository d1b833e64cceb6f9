#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"
#include "runtime/kernels/task.h"
#include "runtime/picture/picture.h"
#include "runtime/record/tensor.h"

// Pictures of a run's outputs (--picture). Each rank reduces its own blocks to pixels; at the end the pixels, at most 1
// MiB per picture and rank, are combined along a tree of ranks.

namespace tdsl::rt {

class Pictures {
 public:
  /// The kernel that adds a task's tile of the output to all pictures of that name; null if `requests` has none.
  /// Throws RunError, with the line, for a subscript outside of the shape. On every rank, at the same point of the
  /// program.
  [[nodiscard]] Kernel kernel(std::span<const PictureRequest> requests, std::string_view name,
                              const record::TensorState& value, const SourceLine& line);
  [[nodiscard]] bool empty() const { return drawn_.empty(); }
  /// Combines all ranks' pixels on rank 0. Collective, after the engine's run.
  void combine(World& world);
  /// On rank 0, after combine(): writes the files; returns the captions of files, each with the file's name, as lines.
  /// Throws RunError.
  [[nodiscard]] std::string write() const;
  /// On rank 0, after combine(): the pictures without a file.
  [[nodiscard]] std::vector<ShownPicture> shown() const;

 private:
  struct Drawn {
    PictureRequest request;
    std::shared_ptr<Pixels> pixels;
  };
  std::vector<Drawn> drawn_;
};

}  // namespace tdsl::rt
