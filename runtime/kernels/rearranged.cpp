#include "runtime/kernels/rearranged.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/kernels/assembled.h"
#include "runtime/kernels/stop.h"
#include "runtime/kernels/stored.h"
#include "runtime/sparse/collected.h"
#include "runtime/sparse/places.h"

namespace tdsl::rt {

namespace {

Index remainder_of(Index x, Index m) {
  const Index r = x % m;
  return r < 0 ? r + m : r;
}

/// The operand's subscripts that map to the result's `places`, or a superset.
Interval subscripts_of(const RearrangedSubscript& s, Interval places) {
  if (s.modulus != 0) return {0, s.modulus};
  const Index first = s.factor * places.lo + s.offset;
  const Index last = s.factor * (places.hi - 1) + s.offset;
  return {std::min(first, last), std::max(first, last) + 1};
}

/// Calls `f` with the result's subscript if it is within `places`.
template <class F>
void solved(const RearrangedSubscript& s, Interval places, Index subscript, const F& f) {
  const Index moved = subscript - s.offset;
  Index place = 0;
  if (s.modulus != 0) {
    place = remainder_of(s.factor * moved, s.modulus);
  } else {
    place = moved / s.factor;
    if (place * s.factor != moved) return;
  }
  if (places.lo <= place && place < places.hi) f(place);
}

/// The elements of an index vector, each checked when it is read.
class Subscripts {
 public:
  Subscripts(const TaskArgs& t, const RearrangedIndex& index) : index_(index), vector_(t.in<Index, 1>(index.operand)) {}

  Index operator()(Index place) const {
    const Index x = vector_(place);
    if (x < 0 || x >= index_.extent) [[unlikely]]
      stop_subscript(index_.place, x, index_.extent, index_.text);
    return x;
  }
  /// The same without a check, for prefetching.
  [[nodiscard]] Index unchecked(Index place) const { return vector_(place); }

 private:
  const RearrangedIndex& index_;
  View<const Index, 1> vector_;
};

/// The places of selected columns: made by the first task if it is the same for all.
struct SharedPlaces {
  std::once_flag made;
  std::optional<sparse::Places> places;
};

/// Collects the elements of one part in the tile of a task.
template <class T, class Elements>
class PartOfTile {
 public:
  PartOfTile(const TaskArgs& t, const RearrangedPart& part, Elements& elements)
      : t_(t),
        part_(part),
        elements_(elements),
        row_places_(places_of(part.row)),
        column_places_(places_of(part.column)) {}

  void run(SharedPlaces& shared) {
    if (row_places_.empty() || column_places_.empty()) return;
    if (!part_.column.index.exists()) return rows(nullptr);
    if (part_.column.dimension == 0) {  // of the tile's rows alone
      const sparse::Places own = selected_columns();
      return rows(&own);
    }
    std::call_once(shared.made, [&] { shared.places.emplace(selected_columns()); });
    rows(&*shared.places);
  }

 private:
  static constexpr Index kAhead = 8;

  /// Labels are the dimensions of the result; a panel has some of the columns.
  [[nodiscard]] Interval places_of(const RearrangedSubscript& s) const {
    const auto d = static_cast<std::size_t>(s.dimension);
    return plan::intersect(plan::intersect(t_.outputs[0].box[s.dimension], part_.box[d]), t_.labels[d]);
  }
  [[nodiscard]] sparse::Places selected_columns() const {
    return {Subscripts(t_, part_.column.index), column_places_, part_.column.index.extent};
  }

  void rows(const sparse::Places* columns) {
    const auto operand = stored_in<T, 2>(t_, part_.operand);
    if (!part_.row.index.exists()) {
      operand.rows(subscripts_of(part_.row, row_places_), [&](const sparse::Row<T>& row) {
        solved(part_.row, row_places_, row.index(), [&](Index r) { put_row(row, r, columns); });
      });
      return;
    }
    const Subscripts selected(t_, part_.row.index);
    StoredRows<T> row_at(operand);
    for (Index r = row_places_.lo; r < row_places_.hi; ++r) {
      if (r + kAhead < row_places_.hi) row_at.fetch_ahead(selected.unchecked(r + kAhead));
      put_row(row_at(selected(r)), r, columns);
    }
  }

  void put_row(const sparse::Row<T>& row, Index r, const sparse::Places* columns) {
    const RearrangedSubscript& s = part_.column;
    if (columns != nullptr) {
      row.each([&](Index c, T value) { columns->each(c, [&](Index place) { put(r, place, value); }); });
    } else if (s.factor == 1 && s.modulus == 0) {  // the usual case without divisions
      row.each(subscripts_of(s, column_places_), [&](Index c, T value) { put(r, c - s.offset, value); });
    } else {
      row.each(subscripts_of(s, column_places_),
               [&](Index c, T value) { solved(s, column_places_, c, [&](Index place) { put(r, place, value); }); });
    }
  }
  void put(Index row_place, Index column_place, T value) {
    part_.row.dimension == 0 ? elements_.put(row_place, column_place, value)
                             : elements_.put(column_place, row_place, value);
  }

  const TaskArgs& t_;
  const RearrangedPart& part_;
  Elements& elements_;
  Interval row_places_;
  Interval column_places_;
};

using AllPlaces = std::vector<SharedPlaces>;

/// Adds the elements of a panel, or of a partial result, as entries of the tile.
template <class T>
struct EntriesOfTile {
  AssembledTile<T>& tile;
  void put(Index i, Index j, T value) { tile.put({i, j}, value); }
};

/// A panel or partial result of a transposition.
template <class T>
void list_entries(const TaskArgs& t, const std::vector<RearrangedPart>& parts, AllPlaces& places) {
  AssembledTile<T> tile(t);
  EntriesOfTile<T> entries{tile};
  for (std::size_t k = 0; k < parts.size(); ++k) PartOfTile<T, EntriesOfTile<T>>(t, parts[k], entries).run(places[k]);
  tile.finish_moved();
}

template <class T>
void rearrange(const TaskArgs& t, const std::vector<RearrangedPart>& parts, AllPlaces& places) {
  if (t.partial || !t.first || !t.last) return list_entries<T>(t, parts, places);
  thread_local sparse::Collected<T> elements;
  const Box& tile = t.outputs[0].box;
  elements.begin(tile[0].lo, tile[1].lo, tile[0].size(), tile[1].size());
  for (std::size_t k = 0; k < parts.size(); ++k)
    PartOfTile<T, sparse::Collected<T>>(t, parts[k], elements).run(places[k]);
  put_block(t.sink(), elements.entries());
}

}  // namespace

template <Element T>
Kernel rearranged_kernel(std::vector<RearrangedPart> parts) {
  auto places = std::make_shared<AllPlaces>(parts.size());
  return [parts = std::move(parts), places = std::move(places)](const TaskArgs& t) { rearrange<T>(t, parts, *places); };
}

#define TDSL_INSTANTIATE(enumerator, T, ...) template Kernel rearranged_kernel<T>(std::vector<RearrangedPart>);
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt
