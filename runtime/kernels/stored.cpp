#include "runtime/kernels/stored.h"

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <type_traits>

#include "runtime/sparse/coded.h"
#include "runtime/types.h"

namespace tdsl::rt {

namespace {

/// Blocks of fewer bytes are not coded.
constexpr Index kCodedFrom = Index{1} << 14;

/// Passes the block of a tile to the sink, with coded columns if that takes at most half the bytes and no more time;
/// otherwise false.
template <class T>
[[nodiscard]] bool put_coded(BlockSink& sink, const sparse::RowEntries<T>& elements, const sparse::CodedVisits& visits,
                             Index plain_bytes) {
  if constexpr (!std::is_same_v<T, bool> && !kIsComplex<T> && !kIsHalf<T>) {
    if (plain_bytes < kCodedFrom) return false;
    const sparse::Coder<T> coder(elements, plain_bytes / 2);
    if (coder.head().bytes == 0 || !coder.pays(visits)) return false;
    sink.holds(elements.count());
    coder.write(sink.begin(coder.head().bytes));
    return true;
  }
  return false;
}

}  // namespace

std::vector<sparse::Part> stored_parts(const TaskArgs& t, int k) {
  std::vector<sparse::Part> parts;
  for (const BlockPart& block : t.inputs[static_cast<std::size_t>(k)].parts) {
    if (block.data != nullptr)
      parts.push_back({reinterpret_cast<const sparse::BlockHead*>(block.data), block.box, block.box[0]});
  }
  return parts;
}

template <class T>
void put_block(BlockSink& sink, const sparse::RowEntries<T>& elements,
               const std::optional<sparse::CodedVisits>& coded) {
  static constexpr auto kListed = [] {
    std::array<sparse::Level, plan::kMaxRank> levels{};
    levels.fill(sparse::Level::kCompressed);
    return levels;
  }();
  const sparse::BlockHead head = sparse::head_of(elements, std::span(kListed).first(elements.extents.size()));
  if (head.bytes == 0 || (coded && put_coded(sink, elements, *coded, head.bytes))) return;
  sink.holds(elements.count());
  sparse::write_block(head, elements, sink.begin(head.bytes));
}

template <class T>
sparse::Output<T>& StoredTile<T>::of_thread(std::size_t k) {
  thread_local std::deque<sparse::Output<T>> outputs;
  while (outputs.size() <= k) outputs.emplace_back();
  return outputs[k];
}

template <class T>
void AccumulatedTile<T>::put_added() {
  const auto drain = [this](std::uint32_t* columns, T* values) { return of_thread_.added.drain(columns, values); };
  expected_ = tile_.put_many(columns_.size() + sparse::AddedRow<T>::kSlack, drain);
}

template <class T>
void AccumulatedTile<T>::put_hashed() {
  expected_ = 0;
  of_thread_.hash.flush([this](Index j, T value) {
    ++expected_;
    if constexpr (std::is_floating_point_v<T> || kIsComplex<T>) value += T(0);  // a sum of -0 only
    tile_.put(columns_.lo + j, value);
  });
}

template <class T>
typename AccumulatedTile<T>::Accumulators& AccumulatedTile<T>::accumulators(std::size_t k) {
  thread_local std::deque<Accumulators> all;
  while (all.size() <= k) all.emplace_back();
  return all[k];
}

#define TDSL_INSTANTIATE(enumerator, T, ...)                                                                    \
  template void put_block(BlockSink&, const sparse::RowEntries<T>&, const std::optional<sparse::CodedVisits>&); \
  template class StoredTile<T>;                                                                                 \
  template class AccumulatedTile<T>;
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt
