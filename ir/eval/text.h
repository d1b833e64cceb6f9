#pragma once

#include <string>

#include "ir/eval/eval.h"

namespace tdsl::ir::eval {

/// An array as `print` shows it: a scalar as the shortest text that reads back, as in Python (`0.1`, `1e-05`, `true`);
/// a tensor as nested brackets, `[[1.0 2.0] [3.0 4.0]]`.
[[nodiscard]] std::string text_of(const Array& array);

}  // namespace tdsl::ir::eval
