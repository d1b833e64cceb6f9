#pragma once

#include "runtime/plan/op.h"
#include "runtime/types.h"

namespace tdsl::rt {

using plan::Index;
class Session;

namespace detail {
/// One recorded tensor and how many handles name it.
struct TensorState {
  Session* session = nullptr;
  plan::TensorDesc desc;
  ElementType type = ElementType::kF64;
  int handles = 0;
};
}  // namespace detail

/// What handles of every type share. Copies name the same tensor; its blocks die with the last handle and the last
/// recorded use. (Not inline, and without shared_ptr: emitted code that names tensors shall compile quickly. Only the thread
/// that records touches handles.)
class TensorHandle {
 public:
  TensorHandle() = default;
  /// Takes part in the state's count.
  explicit TensorHandle(detail::TensorState* state);
  TensorHandle(const TensorHandle& other);
  TensorHandle(TensorHandle&& other) noexcept;
  TensorHandle& operator=(const TensorHandle& other);
  TensorHandle& operator=(TensorHandle&& other) noexcept;
  ~TensorHandle();

  [[nodiscard]] plan::TensorId id() const;
  [[nodiscard]] Index extent(int d) const;
  [[nodiscard]] const detail::TensorState& state() const { return *state_; }
  /// Drops this name.
  void release() noexcept;

 private:
  detail::TensorState* state_ = nullptr;
};

/// A handle to a tensor of the program.
template <Element T>
class Tensor : public TensorHandle {
 public:
  Tensor() = default;
  explicit Tensor(TensorHandle handle) : TensorHandle(static_cast<TensorHandle&&>(handle)) {}
};

}  // namespace tdsl::rt
