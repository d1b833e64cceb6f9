#include "runtime/record/tensor.h"

#include <utility>

#include "runtime/record/recorder.h"

namespace tdsl::record {

TensorHandle::TensorHandle(TensorState* state) : state_(state) {
  if (state_ != nullptr) ++state_->handles;
}
TensorHandle::TensorHandle(const TensorHandle& other) : TensorHandle(other.state_) {}
TensorHandle::TensorHandle(TensorHandle&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

TensorHandle& TensorHandle::operator=(const TensorHandle& other) {
  TensorHandle copy(other);
  std::swap(state_, copy.state_);
  return *this;
}

TensorHandle& TensorHandle::operator=(TensorHandle&& other) noexcept {
  TensorHandle moved(std::move(other));
  std::swap(state_, moved.state_);
  return *this;
}

TensorHandle::~TensorHandle() { release(); }

plan::TensorId TensorHandle::id() const { return state_->desc.id; }
Index TensorHandle::extent(int d) const { return state_->desc.shape[static_cast<std::size_t>(d)]; }

void TensorHandle::release() noexcept {
  if (state_ != nullptr && --state_->handles == 0) {
    state_->recorder->drop(state_->desc.id);
    delete state_;
  }
  state_ = nullptr;
}

Index dense_bytes(const TensorState& tensor) {
  return tensor.desc.elements() * static_cast<Index>(element_size(tensor.type));
}

}  // namespace tdsl::record
