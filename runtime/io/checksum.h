#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tdsl::rt {

/// XXH64 with seed 0, computed incrementally.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const;

 private:
  void add_stripe(const std::byte* stripe);

  std::array<std::uint64_t, 4> lanes_{0x60ea27eeadc0b5d6, 0xc2b2ae3d27d4eb4f, 0, 0x61c8864e7a143579};
  std::array<std::byte, 32> rest_{};
  std::uint64_t count_ = 0;
};

[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace tdsl::rt
