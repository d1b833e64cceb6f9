#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tdsl::codegen {

/// A 128-bit hash of strings, in two lanes: collisions are negligible by accident, but not prevented against malice.
/// Processes eight bytes at a time, similar to FNV-1a.
class Hash {
 public:
  void add(std::string_view bytes) {
    const std::size_t size = bytes.size();
    while (bytes.size() >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof word);
      mix(word);
      bytes.remove_prefix(sizeof word);
    }
    for (const char c : bytes) mix(static_cast<unsigned char>(c));
    mix(size);
  }
  void add(const std::vector<std::string>& strings) {
    for (const std::string& s : strings) add(std::string_view(s));
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

 private:
  void mix(std::uint64_t word) {
    a_ = (a_ ^ word) * 0x100000001B3ULL;
    a_ ^= a_ >> 32;
    b_ = (b_ + word) * 0x9E3779B97F4A7C15ULL;
    b_ ^= b_ >> 29;
  }

  std::uint64_t a_ = 0xCBF29CE484222325ULL;
  std::uint64_t b_ = 0x2545F4914F6CDD1DULL;
};

}  // namespace tdsl::codegen
