#include "runtime/app/session/entry_output.h"

#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <utility>

#include "runtime/kernels/stored.h"
#include "runtime/sparse/elements.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kPartBytes = std::size_t{256} << 10;

template <class T>
Entries nonzeros_of(const Operand& in, const EntryForm& form, Written written) {
  Entries entries(form);
  const Box& box = in.box;
  if (box.empty()) return entries;
  std::array<Index, plan::kMaxRank> at{};
  for (int d = 0; d < box.rank; ++d) at[plan::idx(d)] = box[d].lo;
  const auto* const data = reinterpret_cast<const T*>(in.data);
  const int last = box.rank - 1;
  while (true) {
    Index offset = 0;
    for (int d = 0; d < last; ++d) offset += (at[plan::idx(d)] - box[d].lo) * in.stride[plan::idx(d)];
    for (Index x = box[last].lo; x < box[last].hi; ++x) {
      const T value = data[offset + (x - box[last].lo) * in.stride[plan::idx(last)]];
      if (!is_written(value, written)) continue;
      at[plan::idx(last)] = x;
      entries.append(at, value);
    }
    int d = last - 1;
    for (; d >= 0; --d) {
      if (++at[plan::idx(d)] < box[d].hi) break;
      at[plan::idx(d)] = box[d].lo;
    }
    if (d < 0) return entries;
  }
}

/// The same for compressed blocks.
template <class T>
Entries stored_of(const TaskArgs& args, const EntryForm& form) {
  Entries entries(form);
  const Box& box = args.inputs[0].box;
  sparse::Elements<T>(stored_parts(args, 0)).each(box[0], [&](std::span<const Index> at, T value) {
    if (value == T(0)) return;
    for (int d = 1; d < box.rank; ++d) {
      if (at[plan::idx(d)] < box[d].lo || at[plan::idx(d)] >= box[d].hi) return;
    }
    entries.append(at, value);
  });
  return entries;
}

/// First row of rank r when rows are divided nearly equally.
Index first_row(Index rows, int rank, int ranks) {
  return static_cast<Index>(static_cast<__int128>(rows) * rank / ranks);
}

int owner_of(Index row, Index rows, int ranks) {
  int rank = static_cast<int>(static_cast<__int128>(row) * ranks / rows);
  while (first_row(rows, rank + 1, ranks) <= row) ++rank;
  return rank;
}

}  // namespace

void EntryOutput::collect(const TaskArgs& args) {
  const EntryForm form = this->form();
  Entries entries = visit_element_type(form.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return args.inputs[0].data == nullptr ? stored_of<T>(args, form) : nonzeros_of<T>(args.inputs[0], form, written_);
  });
  const std::scoped_lock lock(mutex_);
  tiles_.push_back(std::move(entries));
}

void EntryOutput::gather(Engine& engine, int rank, int ranks) {
  const EntryForm form = this->form();
  const Index rows = shape_.front();
  Entries mine(form);
  std::vector<std::vector<std::byte>> open(static_cast<std::size_t>(ranks));
  std::deque<std::pair<int, std::vector<std::byte>>> full;
  const auto close = [&](std::size_t owner) {
    full.emplace_back(static_cast<int>(owner), std::exchange(open[owner], {}));
  };
  const auto add = [&](const std::byte* entry) {
    const auto owner = static_cast<std::size_t>(owner_of(form.coordinate(entry, 0), rows, ranks));
    if (static_cast<int>(owner) == rank) {
      std::memcpy(mine.append(), entry, form.bytes());
      return;
    }
    open[owner].insert(open[owner].end(), entry, entry + form.bytes());
    if (open[owner].size() + form.bytes() > kPartBytes) close(owner);
  };
  const auto next = [&](int& target, std::vector<std::byte>& bytes) {
    while (full.empty() && !tiles_.empty()) {
      tiles_.back().for_each(add);
      tiles_.pop_back();
    }
    for (std::size_t owner = 0; full.empty() && owner < open.size(); ++owner) {
      if (!open[owner].empty()) close(owner);
    }
    if (full.empty()) return false;
    std::tie(target, bytes) = std::move(full.front());
    full.pop_front();
    return true;
  };
  for (auto& source : engine.exchange(next)) {
    for (std::vector<std::byte>& piece : source) {
      for (std::size_t at = 0; at < piece.size(); at += form.bytes())
        std::memcpy(mine.append(), piece.data() + at, form.bytes());
      piece = {};
    }
  }
  take(sorted(mine), {first_row(rows, rank, ranks), first_row(rows, rank + 1, ranks)});
}

}  // namespace tdsl::rt
