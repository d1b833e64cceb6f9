#include "runtime/sparse/accumulator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/types.h"

namespace tdsl::rt::sparse {

template <class T>
void AddedRow<T>::grow(std::size_t words) {
  bits_.resize(words, 0);
  sums_ = std::make_unique<T[]>(64 * words);  // zeros
}

template <class T>
Index AddedRow<T>::drain(std::uint32_t* columns, T* values) {
  const Index came = columns_that_came(columns);
  if constexpr (std::is_same_v<T, bool>) {
    static_cast<void>(values);
    return came;
  } else {
    Index kept = 0;
    for (Index k = 0; k < came; ++k) {
      const std::uint32_t c = columns[k];
      const T sum = std::exchange(sums_[c], T(0));
      columns[kept] = c;
      values[kept] = sum;
      kept += sum != T(0) ? 1 : 0;
    }
    return kept;
  }
}

template <class T>
Index AddedRow<T>::columns_that_came(std::uint32_t* columns) {
  Index came = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    std::uint64_t word = std::exchange(bits_[w], 0);
    const auto first = static_cast<std::uint32_t>(w * 64);
    do {  // two at a time: most words have at most two
      for (int k = 0; k < 2; ++k) {
        columns[came] = first + static_cast<std::uint32_t>(std::countr_zero(word));
        came += word != 0 ? 1 : 0;
        word &= word - 1;
      }
    } while (word != 0);
  }
  return came;
}

template <class T>
void HashAccumulator<T>::begin(Index elements) {
  use(std::bit_ceil(static_cast<std::size_t>(elements) * 2 + 2));
}

template <class T>
void HashAccumulator<T>::use(std::size_t slots) {
  if (slots > slots_.size()) slots_.assign(slots, kFree);
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
}

template <class T>
void HashAccumulator<T>::sort() {
  for (const Element& element : list_) slots_[element.slot] = kFree;
  std::sort(list_.begin(), list_.end(), [](const Element& a, const Element& b) { return a.column < b.column; });
}

template <class T>
void HashAccumulator<T>::grow() {
  for (const Element& element : list_) slots_[element.slot] = kFree;
  use(2 * (mask_ + 1));
  for (std::uint32_t k = 0; k < list_.size(); ++k) {
    std::size_t s = first_slot(list_[k].column);
    while (slots_[s] != kFree) s = (s + 1) & mask_;
    slots_[s] = k;
    list_[k].slot = static_cast<std::uint32_t>(s);
  }
}

#define TDSL_INSTANTIATE(enumerator, T, ...) \
  template class AddedRow<T>;                \
  template class HashAccumulator<T>;
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt::sparse
