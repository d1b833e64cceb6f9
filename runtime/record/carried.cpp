#include <cstring>

#include "runtime/record/known.h"

namespace tdsl::record {

namespace {

template <class T>
std::uint64_t bits_of(const void* variable) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, variable, sizeof(T));
  return bits;
}

}  // namespace

std::uint64_t CarriedRef::bits() const {
  switch (kind_) {
    case Kind::kTensor: break;
    case Kind::kBool: return bits_of<bool>(at_);
    case Kind::kI32: return bits_of<std::int32_t>(at_);
    case Kind::kI64: return bits_of<std::int64_t>(at_);
    case Kind::kF32: return bits_of<float>(at_);
    case Kind::kF64: return bits_of<double>(at_);
  }
  return 0;
}

void CarriedRef::set_bits(std::uint64_t bits) const {
  switch (kind_) {
    case Kind::kTensor: return;
    case Kind::kBool: std::memcpy(at_, &bits, sizeof(bool)); return;
    case Kind::kI32: std::memcpy(at_, &bits, sizeof(std::int32_t)); return;
    case Kind::kI64: std::memcpy(at_, &bits, sizeof(std::int64_t)); return;
    case Kind::kF32: std::memcpy(at_, &bits, sizeof(float)); return;
    case Kind::kF64: std::memcpy(at_, &bits, sizeof(double)); return;
  }
}

}  // namespace tdsl::record
