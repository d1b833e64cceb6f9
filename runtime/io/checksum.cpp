#include "runtime/io/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tdsl::rt {

namespace {

constexpr std::uint64_t kPrime1 = 0x9e3779b185ebca87, kPrime2 = 0xc2b2ae3d27d4eb4f, kPrime3 = 0x165667b19e3779f9,
                        kPrime4 = 0x85ebca77c2b2ae63, kPrime5 = 0x27d4eb2f165667c5;
static_assert(std::endian::native == std::endian::little);

template <class T>
std::uint64_t word_at(const std::byte* bytes) {
  T word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) { return std::rotl(lane + word * kPrime2, 31) * kPrime1; }

}  // namespace

void Checksum::add_stripe(const std::byte* stripe) {
  for (std::size_t k = 0; k < 4; ++k) lanes_[k] = round(lanes_[k], word_at<std::uint64_t>(stripe + 8 * k));
}

void Checksum::add(std::span<const std::byte> bytes) {
  const std::size_t held = count_ % 32;
  count_ += bytes.size();
  if (held > 0) {
    const std::size_t more = std::min(bytes.size(), 32 - held);
    std::copy_n(bytes.begin(), more, rest_.begin() + static_cast<std::ptrdiff_t>(held));
    bytes = bytes.subspan(more);
    if (held + more < 32) return;
    add_stripe(rest_.data());
  }
  for (; bytes.size() >= 32; bytes = bytes.subspan(32)) add_stripe(bytes.data());
  std::ranges::copy(bytes, rest_.begin());
}

std::uint64_t Checksum::value() const {
  std::uint64_t hash = kPrime5;
  if (count_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += count_;
  const std::byte* at = rest_.data();
  std::size_t left = count_ % 32;
  for (; left >= 8; at += 8, left -= 8)
    hash = std::rotl(hash ^ round(0, word_at<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  for (; left >= 4; at += 4, left -= 4)
    hash = std::rotl(hash ^ word_at<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; left > 0; ++at, --left) hash = std::rotl(hash ^ word_at<std::uint8_t>(at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace tdsl::rt
