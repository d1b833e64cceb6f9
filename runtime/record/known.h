#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

namespace tdsl::record {

class TensorHandle;

/// What is known of a condition or of a loop's range before the program runs.
enum class Known : std::uint8_t {
  kStart,  ///< it follows from params, extents and the machine alone
  kLoop,   ///< it changes with the iterations of a loop around it or before it
  kData,   ///< it comes from computed data
};

/// A variable of the program that a loop carries from iteration to iteration: a tensor, or a scalar that every rank
/// knows.
class CarriedRef {
 public:
  enum class Kind : std::uint8_t { kTensor, kBool, kI32, kI64, kF32, kF64 };
  constexpr CarriedRef(TensorHandle& variable) : kind_(Kind::kTensor), at_(&variable) {}  // NOLINT
  constexpr CarriedRef(bool& variable) : kind_(Kind::kBool), at_(&variable) {}            // NOLINT
  constexpr CarriedRef(std::int32_t& variable) : kind_(Kind::kI32), at_(&variable) {}     // NOLINT
  constexpr CarriedRef(std::int64_t& variable) : kind_(Kind::kI64), at_(&variable) {}     // NOLINT
  constexpr CarriedRef(float& variable) : kind_(Kind::kF32), at_(&variable) {}            // NOLINT
  constexpr CarriedRef(double& variable) : kind_(Kind::kF64), at_(&variable) {}           // NOLINT

  [[nodiscard]] bool is_tensor() const { return kind_ == Kind::kTensor; }
  [[nodiscard]] TensorHandle& tensor() const { return *static_cast<TensorHandle*>(at_); }
  /// Of a scalar.
  [[nodiscard]] std::uint64_t bits() const;
  void set_bits(std::uint64_t bits) const;

 private:
  Kind kind_;
  void* at_;
};
using Carried = std::initializer_list<CarriedRef>;

/// What is known of a loop.
struct Loop {
  constexpr Loop(Known known) : range(known) {}  // NOLINT: a loop that records is described by its range alone
  /// A loop of the program: all that its iterations hand on is what it carries. The list must live as long as the loop
  /// runs.
  constexpr Loop(Known known, Carried variables)
      : range(known), has_boundaries(true), carried(variables.begin(), variables.size()) {}
  /// A loop that computes scalars only.
  [[nodiscard]] static constexpr Loop of_scalars() {
    Loop loop(Known::kStart);
    loop.records = false;
    return loop;
  }

  Known range;                  ///< of a `while`: its condition; kData or not
  bool records = true;          ///< false: it computes scalars that every rank knows, and nothing else
  bool has_boundaries = false;  ///< the program may be interrupted at the top of its iterations
  std::span<const CarriedRef> carried{};
};
/// A loop that computes scalars only.
inline constexpr Loop kScalars = Loop::of_scalars();

}  // namespace tdsl::record
