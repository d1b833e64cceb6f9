#pragma once

namespace tdsl::tests {

/// Sanitizers make tests five to ten times slower, so long tests run fewer cases.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kInstrumented = true;
#else
inline constexpr bool kInstrumented = false;
#endif

/// Number of cases to run out of `count`.
constexpr int thinned(int count) { return kInstrumented ? (count + 3) / 4 : count; }

}  // namespace tdsl::tests
