#pragma once

#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::record {

using plan::Index;
using rt::ElementType;
class Recorder;

/// One recorded tensor and how many handles name it.
struct TensorState {
  Recorder* recorder = nullptr;
  plan::TensorDesc desc;
  ElementType type = ElementType::kF64;
  int handles = 0;
  bool source = false;  ///< made from nothing: read from a file, or generated
};

/// A name for a recorded tensor. Copies name the same tensor; its life ends with the last handle and the last recorded
/// use. (Not inline, and without shared_ptr: emitted code that names tensors shall compile quickly. Only the thread
/// that records touches handles.)
class TensorHandle {
 public:
  TensorHandle() = default;
  /// Takes part in the state's count.
  explicit TensorHandle(TensorState* state);
  TensorHandle(const TensorHandle& other);
  TensorHandle(TensorHandle&& other) noexcept;
  TensorHandle& operator=(const TensorHandle& other);
  TensorHandle& operator=(TensorHandle&& other) noexcept;
  ~TensorHandle();

  [[nodiscard]] plan::TensorId id() const;
  [[nodiscard]] Index extent(int d) const;
  [[nodiscard]] const TensorState& state() const { return *state_; }
  /// What planning knows of it.
  [[nodiscard]] const plan::TensorDesc& desc() const { return state_->desc; }
  /// Drops this name.
  void release() noexcept;
  [[nodiscard]] bool names_something() const { return state_ != nullptr; }

 private:
  TensorState* state_ = nullptr;
};

}  // namespace tdsl::record
