#pragma once

#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::record {

using plan::Index;
using rt::ElementType;
class Recorder;

/// A recorded tensor and the number of its handles.
struct TensorState {
  Recorder* recorder = nullptr;
  plan::TensorDesc desc;
  ElementType type = ElementType::kF64;
  int handles = 0;
  bool source = false;  ///< without operands: read from a file, or generated
};

/// A name of a recorded tensor. Copies name the same tensor, which is freed after its last handle and its last recorded
/// use. (Neither inline nor a shared_ptr, so that emitted code with tensor handles compiles quickly. Handles are only
/// used by the recording thread.)
class TensorHandle {
 public:
  TensorHandle() = default;
  /// Adds a reference to the state.
  explicit TensorHandle(TensorState* state);
  TensorHandle(const TensorHandle& other);
  TensorHandle(TensorHandle&& other) noexcept;
  TensorHandle& operator=(const TensorHandle& other);
  TensorHandle& operator=(TensorHandle&& other) noexcept;
  ~TensorHandle();

  [[nodiscard]] plan::TensorId id() const;
  [[nodiscard]] Index extent(int d) const;
  [[nodiscard]] const TensorState& state() const { return *state_; }
  /// The planner's descriptor of the tensor.
  [[nodiscard]] const plan::TensorDesc& desc() const { return state_->desc; }
  /// Drops this name.
  void release() noexcept;
  [[nodiscard]] bool names_something() const { return state_ != nullptr; }

 private:
  TensorState* state_ = nullptr;
};

/// Bytes of all elements, stored or not.
[[nodiscard]] Index dense_bytes(const TensorState& tensor);

}  // namespace tdsl::record
