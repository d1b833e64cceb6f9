#include "runtime/kernels/rearranged.h"

#include <algorithm>
#include <utility>

#include "runtime/kernels/stored.h"
#include "runtime/sparse/collected.h"

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

template <class T>
void collect(const TaskArgs& t, const RearrangedPart& part, sparse::Collected<T>& elements) {
  const Box& tile = t.outputs[0].box;
  const auto places = [&](const RearrangedSubscript& s) {
    return plan::intersect(tile[s.dimension], part.box[static_cast<std::size_t>(s.dimension)]);
  };
  const Interval row_places = places(part.row);
  const Interval column_places = places(part.column);
  if (row_places.empty() || column_places.empty()) return;
  const Interval columns = subscripts_of(part.column, column_places);
  const bool by_rows = part.row.dimension == 0;
  // The usual case without divisions.
  const bool shifted = part.column.factor == 1 && part.column.modulus == 0;
  stored_in<T, 2>(t, part.operand).rows(subscripts_of(part.row, row_places), [&](const sparse::Row<T>& row) {
    solved(part.row, row_places, row.index(), [&](Index r) {
      const auto put = [&](Index c, T value) { by_rows ? elements.put(r, c, value) : elements.put(c, r, value); };
      if (shifted) {
        row.each(columns, [&](Index c, T value) { put(c - part.column.offset, value); });
      } else {
        row.each(columns, [&](Index c, T value) {
          solved(part.column, column_places, c, [&](Index place) { put(place, value); });
        });
      }
    });
  });
}

template <class T>
void rearrange(const TaskArgs& t, const std::vector<RearrangedPart>& parts) {
  thread_local sparse::Collected<T> elements;
  const Box& tile = t.outputs[0].box;
  elements.begin(tile[0].lo, tile[1].lo, tile[0].size(), tile[1].size());
  for (const RearrangedPart& part : parts) collect(t, part, elements);
  put_block(t.sink(), elements.entries());
}

}  // namespace

template <Element T>
Kernel rearranged_kernel(std::vector<RearrangedPart> parts) {
  return [parts = std::move(parts)](const TaskArgs& t) { rearrange<T>(t, parts); };
}

#define TDSL_INSTANTIATE(enumerator, T, ...) template Kernel rearranged_kernel<T>(std::vector<RearrangedPart>);
TDSL_ELEMENT_TYPES(TDSL_INSTANTIATE)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt
