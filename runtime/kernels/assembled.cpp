#include "runtime/kernels/assembled.h"

#include <array>
#include <cstring>
#include <span>
#include <type_traits>

#include "runtime/check.h"
#include "runtime/kernels/combine.h"
#include "runtime/types.h"

namespace tdsl::rt {

template <class T>
void AssembledTile<T>::append(const BlockPart& block) {
  if (block.data == nullptr) return;
  const std::span<const std::byte> entries =
      sparse::entries_in(*reinterpret_cast<const sparse::BlockHead*>(block.data), form_);
  const int parts = block.box.rank - box_.rank;
  std::array<Index, plan::kMaxRank> shift{};
  bool same = true;
  for (int d = 0; d < box_.rank; ++d) {
    shift[plan::idx(d)] = block.box[parts + d].lo - box_[d].lo;
    same = same && block.box[parts + d] == box_[d];
  }
  if (same) {
    if (!entries.empty()) std::memcpy(entries_.append(entries.size()), entries.data(), entries.size());
    return;
  }
  for (std::size_t k = 0; k < entries.size(); k += form_.bytes()) {
    std::array<Index, plan::kMaxRank> at{};
    bool inside = true;
    for (int d = 0; d < box_.rank; ++d) {
      at[plan::idx(d)] = form_.coordinate(entries.data() + k, d) + shift[plan::idx(d)];
      inside = inside && 0 <= at[plan::idx(d)] && at[plan::idx(d)] < box_[d].size();
    }
    if (!inside) continue;
    std::byte* const entry = entries_.append(form_.bytes());
    std::memcpy(entry, entries.data() + k, form_.bytes());
    for (int d = 0; d < box_.rank; ++d) form_.set_coordinate(entry, d, at[plan::idx(d)]);
  }
}

template <class T>
void AssembledTile<T>::keep_entries() {
  const std::span<const std::byte> entries = entries_.bytes();
  const sparse::BlockHead head =
      sparse::entry_block_head(form_, element_type_of<T>, static_cast<Index>(entries.size() / form_.bytes()));
  std::byte* const to = t_.sink().begin(head.bytes);
  std::memcpy(to, &head, sizeof head);
  std::memcpy(to + sizeof head, entries.data(), entries.size());
}

template <class T>
template <class ValueOf>
void AssembledTile<T>::finish_by(const ValueOf& value_of) {
  if (entries_.empty()) return;
  if (t_.partial || !t_.last) return keep_entries();
  Box tile = box_;
  for (int d = 0; d < tile.rank; ++d) tile[d] = {0, box_[d].size()};
  thread_local sparse::Output<T> elements;
  elements.begin(tile);
  sparse::assemble(form_, entries_.bytes(), tile, elements, value_of);
  put_block(t_.sink(), elements.entries());
}

template <class T>
template <plan::Combine kCombine>
void AssembledTile<T>::finish_combined() {
  finish_by([](const sparse::ElementEntries& list) {
    T value{};
    for (std::size_t k = 0; k < list.size(); ++k)
      value = combined<kCombine>(value, static_cast<T>(list.value<Stored>(k)));
    return value;
  });
}

template <class T>
void AssembledTile<T>::finish(plan::Combine combine) {
  using plan::Combine;
  if constexpr (std::is_same_v<T, bool>) {
    switch (combine) {
      case Combine::kAny:
      case Combine::kMax: return finish_combined<Combine::kAny>();
      case Combine::kAll:
      case Combine::kMin:
      case Combine::kProd: return finish_combined<Combine::kAll>();
      default: TDSL_CHECK(false, "bools combine by any, all, min or max");
    }
  } else if constexpr (kIsHalf<T>) {
    TDSL_CHECK(false, "floats of two bytes are not combined");
  } else if constexpr (kIsComplex<T>) {
    TDSL_CHECK(combine == Combine::kSum || combine == Combine::kProd, "complex numbers combine by sum or prod");
    combine == Combine::kSum ? finish_combined<Combine::kSum>() : finish_combined<Combine::kProd>();
  } else {
    switch (combine) {
      case Combine::kSum: return finish_combined<Combine::kSum>();
      case Combine::kProd: return finish_combined<Combine::kProd>();
      case Combine::kMin: return finish_combined<Combine::kMin>();
      case Combine::kMax: return finish_combined<Combine::kMax>();
      default: TDSL_CHECK(false, "numbers combine by sum, prod, min or max");
    }
  }
}

template <class T>
void AssembledTile<T>::finish_moved() {
  finish_by([](const sparse::ElementEntries& list) { return static_cast<T>(list.value<Stored>(0)); });
}

template <class T>
void AssembledTile<T>::finish_once(SourceLine place, const char* message) {
  finish_by([&](const sparse::ElementEntries& list) {
    if (list.size() > 1) stop(place, message);
    if constexpr (std::is_same_v<T, bool>)
      return list.value<Stored>(0) != 0;
    else
      return static_cast<T>(list.value<Stored>(0) + T(0));  // not -0
  });
}

template <class T>
sparse::EntryList& AssembledTile<T>::of_thread() {
  thread_local sparse::EntryList entries;
  return entries;
}

namespace {

template <class T>
void move_parts(const TaskArgs& t) {
  AssembledTile<T> tile(t);
  for (const BlockPart& part : t.inputs[0].parts) tile.append(part);
  tile.finish_moved();
}

template <class T>
Kernel assembled_from(plan::Combine combine) {
  return [combine](const TaskArgs& t) {
    AssembledTile<T> tile(t);
    for (const BlockPart& part : t.inputs[0].parts) tile.append(part);
    tile.finish(combine);
  };
}

}  // namespace

Kernel assembled_kernel(plan::Combine combine, ElementType type) {
  return visit_element_type(type,
                            [&](auto tag) -> Kernel { return assembled_from<typename decltype(tag)::type>(combine); });
}

Kernel moved_kernel(ElementType type) {
  return visit_element_type(type, [&](auto tag) -> Kernel { return move_parts<typename decltype(tag)::type>; });
}

#define TDSL_INSTANTIATE(enumerator, T, ...) template class AssembledTile<T>;
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt
