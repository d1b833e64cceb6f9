#include "runtime/engine/store/row_list.h"

#include <algorithm>

#include "runtime/kernels/copy.h"

namespace tdsl::rt {

void RowList::add(Interval run) {
  if (run.empty()) return;
  if (!runs.empty() && run.lo <= runs.back().hi) {
    rows += std::max<Index>(run.hi - runs.back().hi, 0);
    runs.back().hi = std::max(runs.back().hi, run.hi);
    return;
  }
  rows += run.size();
  runs.push_back(run);
}

RowList rows_inside(const RowList& list, Interval range) {
  RowList inside;
  auto run = std::ranges::partition_point(list.runs, [&](const Interval& r) { return r.hi <= range.lo; });
  for (; run != list.runs.end() && run->lo < range.hi; ++run) inside.add(plan::intersect(*run, range));
  return inside;
}

RowList united(const std::vector<RowListRef>& lists) {
  std::vector<Interval> runs;
  for (const RowListRef& list : lists) runs.insert(runs.end(), list->runs.begin(), list->runs.end());
  std::ranges::sort(runs, {}, &Interval::lo);
  RowList all;
  for (const Interval& run : runs) all.add(run);
  return all;
}

Index row_bytes(const Box& box, Index element_bytes) { return box.volume() / box[0].size() * element_bytes; }

namespace {

/// Calls f for the parts of the run that are wanted; `next`: the first wanted run that may overlap it or a later one.
template <class F>
void for_each_wanted(const RowList& wanted, std::size_t& next, Interval run, const F& f) {
  while (next < wanted.runs.size() && wanted.runs[next].hi <= run.lo) ++next;
  for (std::size_t k = next; k < wanted.runs.size() && wanted.runs[k].lo < run.hi; ++k)
    f(plan::intersect(wanted.runs[k], run));
}

}  // namespace

void copy_rows(const RowList& wanted, const Operand& from, const Operand& to, Index element_bytes) {
  std::size_t next = 0;
  Box part = plan::intersect(from.box, to.box);
  for_each_wanted(wanted, next, part[0], [&](Interval rows) {
    Box box = part;
    box[0] = rows;
    copy_box(from, to, box, element_bytes);
  });
}

void copy_rows(const RowList& wanted, const PackedRows& from, const Operand& to, Index element_bytes) {
  std::size_t next = 0;
  const Box part = plan::intersect(from.box, to.box);
  std::byte* data = from.data;
  const Index bytes = row_bytes(from.box, element_bytes);
  for (const Interval& run : from.rows->runs) {
    Box packed = from.box;
    packed[0] = run;
    const Operand source = row_major(data, packed);
    for_each_wanted(wanted, next, plan::intersect(run, part[0]), [&](Interval rows) {
      Box box = part;
      box[0] = rows;
      copy_box(source, to, box, element_bytes);
    });
    data += run.size() * bytes;
  }
}

void Packing::run() const {
  std::byte* data = to.data;
  const Index bytes = row_bytes(to.box, element_bytes);
  for (const Interval& run : to.rows->runs) {
    Box box = to.box;
    box[0] = run;
    copy_box(from, row_major(data, box), box, element_bytes);
    data += run.size() * bytes;
  }
}

}  // namespace tdsl::rt
