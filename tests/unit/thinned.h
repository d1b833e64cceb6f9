#pragma once

namespace tdsl::tests {

/// Built with a sanitizer, which takes five to ten times as long: long tests do less of the same.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

/// How many of `count` cases run.
constexpr int thinned(int count) { return kInstrumented ? (count + 3) / 4 : count; }

}  // namespace tdsl::tests
