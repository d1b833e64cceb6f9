#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace tdsl::rt {

/// An integer made of sizes by `+ - *`, exactly: products of sizes may leave 64 bits. What leaves 128 bits is lost and
/// stays so. Compares with other numbers of sizes; lost ones equal nothing and are not at most anything.
class Exact {
 public:
  constexpr Exact(std::int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): integers are exact

  /// The value if 64 bits hold it.
  [[nodiscard]] constexpr std::optional<std::int64_t> in_64_bits() const {
    const auto narrow = static_cast<std::int64_t>(value_);
    return lost_ || narrow != value_ ? std::nullopt : std::optional(narrow);
  }
  /// For messages: the digits, or which way it leaves 64 bits.
  [[nodiscard]] std::string text() const {
    if (const auto narrow = in_64_bits()) return std::to_string(*narrow);
    if (lost_) return "beyond 64 bits";
    return value_ > 0 ? "more than " + std::to_string(std::numeric_limits<std::int64_t>::max())
                      : "less than " + std::to_string(std::numeric_limits<std::int64_t>::min());
  }

  friend constexpr Exact operator+(Exact a, Exact b) {
    a.lost_ = a.lost_ | b.lost_ | __builtin_add_overflow(a.value_, b.value_, &a.value_);
    return a;
  }
  friend constexpr Exact operator-(Exact a, Exact b) {
    a.lost_ = a.lost_ | b.lost_ | __builtin_sub_overflow(a.value_, b.value_, &a.value_);
    return a;
  }
  friend constexpr Exact operator-(Exact a) { return Exact(0) - a; }
  friend constexpr Exact operator*(Exact a, Exact b) {
    a.lost_ = a.lost_ | b.lost_ | __builtin_mul_overflow(a.value_, b.value_, &a.value_);
    return a;
  }
  friend constexpr bool operator==(Exact a, Exact b) { return !a.lost_ && !b.lost_ && a.value_ == b.value_; }
  friend constexpr bool operator<=(Exact a, Exact b) { return !a.lost_ && !b.lost_ && a.value_ <= b.value_; }

 private:
  __extension__ using Wide = __int128;
  Wide value_;
  bool lost_ = false;
};

/// A loop's next value: `i + step`, or on overflow the limit of 64 bits, which ends every loop.
[[nodiscard]] constexpr std::int64_t advanced(std::int64_t i, std::int64_t step) {
  std::int64_t next = 0;
  if (!__builtin_add_overflow(i, step, &next)) return next;
  return step > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace tdsl::rt
