#pragma once

namespace tdsl::rt::math {

/// The implementation of the kernels' library functions (vector_math.h) on this processor: "SLEEF" or "libm".
[[nodiscard]] const char* library();

}  // namespace tdsl::rt::math
