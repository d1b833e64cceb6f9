#pragma once

#include <cstdint>

namespace tdsl::rt {

/// Random pauses for tests: they change the timing, never the results. Without a seed there are none.
class Delays {
 public:
  explicit Delays(std::uint64_t seed) : seed_(seed) {}
  /// Occasionally sleeps, for up to two milliseconds.
  void pause() const;

 private:
  std::uint64_t seed_;
};

}  // namespace tdsl::rt
