#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

#include "runtime/types.h"

namespace tdsl::record {

class TensorHandle;

/// When a condition or a loop's range becomes known.
enum class Known : std::uint8_t {
  kStart,  ///< depends on params, extents and the machine alone
  kLoop,   ///< changes with the iterations of an enclosing or earlier loop
  kData,   ///< depends on computed data
};

/// A variable that a loop carries between iterations: a tensor, or a scalar known on every rank.
class CarriedRef {
 public:
  constexpr CarriedRef(TensorHandle& variable) : at_(&variable) {}  // NOLINT
  template <rt::Element T>
  requires(sizeof(T) <= sizeof(std::uint64_t)) constexpr CarriedRef(T& variable)
      : bytes_(sizeof(T)), at_(&variable) {}  // NOLINT

  [[nodiscard]] bool is_tensor() const { return bytes_ == 0; }
  [[nodiscard]] TensorHandle& tensor() const { return *static_cast<TensorHandle*>(at_); }
  /// The bits of a scalar.
  [[nodiscard]] std::uint64_t bits() const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at_, bytes_);
    return bits;
  }
  void set_bits(std::uint64_t bits) const { std::memcpy(at_, &bits, bytes_); }

 private:
  std::size_t bytes_ = 0;  ///< of a scalar
  void* at_;
};
using Carried = std::initializer_list<CarriedRef>;

/// Static properties of a loop.
struct Loop {
  constexpr Loop(Known known) : range(known) {}  // NOLINT: a loop that records is described by its range alone
  /// A program loop whose iterations pass on only the carried variables. The list must outlive the loop.
  constexpr Loop(Known known, Carried variables)
      : range(known), has_boundaries(true), carried(variables.begin(), variables.size()) {}
  /// A loop that computes only scalars.
  [[nodiscard]] static constexpr Loop of_scalars() {
    Loop loop(Known::kStart);
    loop.records = false;
    return loop;
  }

  Known range;                  ///< for a `while`: its condition; kData or not
  bool records = true;          ///< false: it only computes scalars known on every rank
  bool has_boundaries = false;  ///< the program may be interrupted at the top of its iterations
  std::span<const CarriedRef> carried{};
};
/// A loop that computes only scalars.
inline constexpr Loop kScalars = Loop::of_scalars();

}  // namespace tdsl::record
