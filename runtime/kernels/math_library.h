#pragma once

namespace tdsl::rt::math {

/// What the library functions of kernels (vector_math.h) are computed with on this processor: "SLEEF" or "libm".
[[nodiscard]] const char* library();

}  // namespace tdsl::rt::math
