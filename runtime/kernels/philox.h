#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <span>

/// Counter-based random numbers: an element's value depends only on (seed, call site, iterations, global index), so it
/// is the same for every tile size, rank count and thread. Stateless, without dependencies: the compiler's evaluator
/// includes this header too.
///
/// The generator is Philox4x32-10 of Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC
/// 2011), section 4.3; one counter per element.
namespace tdsl::rt {

/// Ten rounds of Philox4x32.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                                std::array<std::uint32_t, 2> key) {
  std::uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  std::uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {c0, c1, c2, c3};
}

/// The stream from which the elements of one random tensor are drawn.
struct RandomStream {
  std::uint64_t key = 0;        ///< Philox key: seed and call site
  std::uint64_t iteration = 0;  ///< upper half of the counter: the enclosing loops' iteration numbers

  friend bool operator==(const RandomStream&, const RandomStream&) = default;
};

namespace detail {
/// The finaliser of splitmix64: a well-mixing bijection on 64 bits.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}
}  // namespace detail

/// The stream of a call site. `call_site` is the compiler's hash of the chain of call sites, numbered by order, never
/// by line; `iterations` are the iteration numbers of the enclosing loops, outermost first.
[[nodiscard]] constexpr RandomStream random_stream(std::uint64_t seed, std::uint64_t call_site,
                                                   std::span<const std::int64_t> iterations = {}) {
  RandomStream stream{detail::mix64(detail::mix64(seed) ^ call_site), 0};
  for (const std::int64_t i : iterations) {
    stream.iteration = detail::mix64(stream.iteration ^ static_cast<std::uint64_t>(i)) + 1;
  }
  return stream;
}

/// The 128 random bits of element `index` (its flat C-order index in the whole tensor).
[[nodiscard]] constexpr std::array<std::uint32_t, 4> random_bits(RandomStream stream, std::uint64_t index) {
  return philox4x32({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                     static_cast<std::uint32_t>(stream.iteration), static_cast<std::uint32_t>(stream.iteration >> 32)},
                    {static_cast<std::uint32_t>(stream.key), static_cast<std::uint32_t>(stream.key >> 32)});
}

namespace detail {
/// The upper 53 bits of two words as a multiple of 2^-53 in [0, 1).
[[nodiscard]] constexpr double unit_f64(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = (std::uint64_t{high} << 32) | low;
  return static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-53;
}
}  // namespace detail

/// Uniform on [0, 1), a multiple of 2^-53.
[[nodiscard]] constexpr double uniform_f64(RandomStream stream, std::uint64_t index) {
  const auto bits = random_bits(stream, index);
  return detail::unit_f64(bits[0], bits[1]);
}

/// Uniform on [0, 1), a multiple of 2^-24.
[[nodiscard]] constexpr float uniform_f32(RandomStream stream, std::uint64_t index) {
  return static_cast<float>(static_cast<std::int32_t>(random_bits(stream, index)[0] >> 8)) * 0x1p-24F;
}

/// Standard normal by Box-Muller from the element's own counter: no rejection, so elements are independent, and no sum
/// that a compiler could contract differently in different loops. Largest magnitude 8.57.
[[nodiscard]] inline double normal_f64(RandomStream stream, std::uint64_t index) {
  const auto bits = random_bits(stream, index);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - detail::unit_f64(bits[0], bits[1])));
  return radius * std::cos(2.0 * std::numbers::pi * detail::unit_f64(bits[2], bits[3]));
}

/// A block of a random tensor. All spans have the tensor's rank. Element x of the block (0 <= x < extents) has global
/// flat index sum((lo[d] + x[d]) * global_strides[d]) and is stored at `data[sum(x[d] * strides[d])]`.
template <class T>
struct RandomBlock {
  T* data = nullptr;
  std::span<const std::int64_t> strides;         ///< of the block, in elements
  std::span<const std::int64_t> lo;              ///< global index of the block's first element
  std::span<const std::int64_t> extents;         ///< of the block
  std::span<const std::int64_t> global_strides;  ///< C-order strides of the whole tensor
};

namespace detail {
/// Calls `row(data, stride, n, first global index, global stride)` for every innermost row of the block.
template <class T, class Row>
void for_each_row(const RandomBlock<T>& block, const Row& row) {
  const std::size_t rank = block.extents.size();
  std::uint64_t index = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (block.extents[d] == 0) return;
    index += static_cast<std::uint64_t>(block.lo[d] * block.global_strides[d]);
  }
  if (rank == 0) return row(block.data, std::int64_t{1}, std::int64_t{1}, index, std::uint64_t{1});
  std::array<std::int64_t, 8> x{};
  T* data = block.data;
  for (;;) {
    row(data, block.strides[rank - 1], block.extents[rank - 1], index,
        static_cast<std::uint64_t>(block.global_strides[rank - 1]));
    std::size_t d = rank - 1;
    for (;;) {
      if (d == 0) return;
      --d;
      data += block.strides[d];
      index += static_cast<std::uint64_t>(block.global_strides[d]);
      if (++x[d] < block.extents[d]) break;
      data -= x[d] * block.strides[d];
      index -= static_cast<std::uint64_t>(x[d] * block.global_strides[d]);
      x[d] = 0;
    }
  }
}
}  // namespace detail

namespace detail {
template <class T>
[[nodiscard]] constexpr T uniform(RandomStream stream, std::uint64_t index) {
  if constexpr (sizeof(T) == 8) {
    return uniform_f64(stream, index);
  } else {
    return uniform_f32(stream, index);
  }
}
}  // namespace detail

/// The element of `random()`, a rank-0 tensor.
template <class T>
[[nodiscard]] constexpr T draw_uniform(std::uint64_t seed, std::uint64_t call_site,
                                       std::initializer_list<std::int64_t> iterations) {
  return detail::uniform<T>(random_stream(seed, call_site, {iterations.begin(), iterations.size()}), 0);
}
/// The element of `randn()`, a rank-0 tensor.
template <class T>
[[nodiscard]] T draw_normal(std::uint64_t seed, std::uint64_t call_site,
                            std::initializer_list<std::int64_t> iterations) {
  return static_cast<T>(normal_f64(random_stream(seed, call_site, {iterations.begin(), iterations.size()}), 0));
}

/// Fills a block of `random(…)`. T is float or double.
template <class T>
void fill_uniform(RandomStream stream, const RandomBlock<T>& block) {
  detail::for_each_row(block,
                       [stream](T* data, std::int64_t stride, std::int64_t n, std::uint64_t first, std::uint64_t step) {
                         if (stride == 1 && step == 1) {  // a separate loop, because only this one vectorises
                           for (std::int64_t i = 0; i < n; ++i) {
                             data[i] = detail::uniform<T>(stream, first + static_cast<std::uint64_t>(i));
                           }
                           return;
                         }
                         for (std::int64_t i = 0; i < n; ++i) {
                           data[i * stride] = detail::uniform<T>(stream, first + static_cast<std::uint64_t>(i) * step);
                         }
                       });
}

/// Fills a block of `randn(…)`. T is float or double.
template <class T>
void fill_normal(RandomStream stream, const RandomBlock<T>& block) {
  detail::for_each_row(block,
                       [stream](T* data, std::int64_t stride, std::int64_t n, std::uint64_t first, std::uint64_t step) {
                         for (std::int64_t i = 0; i < n; ++i) {
                           const std::uint64_t index = first + static_cast<std::uint64_t>(i) * step;
                           data[i * stride] = static_cast<T>(normal_f64(stream, index));
                         }
                       });
}

}  // namespace tdsl::rt

// Random numbers by key: scalar operators that depend on a key and a global index alone. Expressions of emitted
// programs and of the evaluator call them like those of scalar_math.h.
namespace tdsl::rt::scalar {

namespace detail {

/// Streams of different functions differ for the same key.
[[nodiscard]] constexpr RandomStream keyed_stream(std::int64_t key, std::uint64_t function) {
  return {rt::detail::mix64(rt::detail::mix64(static_cast<std::uint64_t>(key)) ^ function), 0};
}
__extension__ using Wide = unsigned __int128;
constexpr std::uint64_t kUniformFunction = 0x6A09E667F3BCC909U;
constexpr std::uint64_t kNormalFunction = 0xBB67AE8584CAA73BU;
constexpr std::uint64_t kBitsFunction = 0x3C6EF372FE94F82BU;

}  // namespace detail

/// 64 random bits.
[[nodiscard]] constexpr std::int64_t keyed_bits(std::int64_t key, std::int64_t index) {
  const std::array<std::uint32_t, 4> words =
      random_bits(detail::keyed_stream(key, detail::kBitsFunction), static_cast<std::uint64_t>(index));
  return static_cast<std::int64_t>((std::uint64_t{words[1]} << 32) | words[0]);
}
/// Uniform on [0, 1), a multiple of 2^-53.
[[nodiscard]] constexpr double keyed_uniform(std::int64_t key, std::int64_t index) {
  return uniform_f64(detail::keyed_stream(key, detail::kUniformFunction), static_cast<std::uint64_t>(index));
}
/// Standard normal.
[[nodiscard]] inline double keyed_normal(std::int64_t key, std::int64_t index) {
  return normal_f64(detail::keyed_stream(key, detail::kNormalFunction), static_cast<std::uint64_t>(index));
}

/// A uniform integer in [0, count) from 64 random bits; `count` is an unsigned number, 0 gives 0. Lemire, "Fast Random
/// Integer Generation in an Interval" (TOMACS 2019): the upper word of bits * count, unless the lower word lies among
/// the first 2^64 mod count numbers. Such bits are replaced by others, so that each integer has the same probability.
[[nodiscard]] constexpr std::int64_t keyed_below(std::int64_t bits, std::int64_t count) {
  const auto n = static_cast<std::uint64_t>(count);
  if (n == 0) return 0;
  std::uint64_t word = static_cast<std::uint64_t>(bits);
  detail::Wide product = static_cast<detail::Wide>(word) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t rejected = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < rejected) {
      word = rt::detail::mix64(word ^ detail::kBitsFunction);
      product = static_cast<detail::Wide>(word) * n;
    }
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> 64));
}

}  // namespace tdsl::rt::scalar
