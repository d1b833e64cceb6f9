#pragma once

#include <cstdint>

namespace tdsl::rt {

/// Random pauses for tests: they change when things happen, never what. Without a seed nothing is ever delayed.
class Delays {
 public:
  explicit Delays(std::uint64_t seed) : seed_(seed) {}
  /// Sleeps now and then, up to two milliseconds.
  void pause() const;

 private:
  std::uint64_t seed_;
};

}  // namespace tdsl::rt
