#pragma once

#include "runtime/record/tensor.h"

namespace tdsl::rt {

using plan::Index;
using record::TensorHandle;

/// A handle to a tensor of the program.
template <Element T>
class Tensor : public TensorHandle {
 public:
  Tensor() = default;
  explicit Tensor(TensorHandle handle) : TensorHandle(static_cast<TensorHandle&&>(handle)) {}
};

}  // namespace tdsl::rt
