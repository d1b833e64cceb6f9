#include "runtime/library/boxes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tdsl::rt {

using plan::Box;
using plan::idx;
using plan::Index;
using plan::Interval;

namespace {

void append_outside(Box box, const Box& hole, std::vector<Box>& parts) {
  const Box inner = plan::intersect(box, hole);
  if (inner.empty()) {
    parts.push_back(box);
    return;
  }
  for (int d = 0; d < box.rank; ++d) {
    for (const Interval side : {Interval{box[d].lo, inner[d].lo}, Interval{inner[d].hi, box[d].hi}}) {
      if (side.empty()) continue;
      Box slab = box;
      slab[d] = side;
      parts.push_back(slab);
    }
    box[d] = inner[d];
  }
}

}  // namespace

std::vector<Box> outside(const Box& box, std::span<const Box> holes) {
  std::vector<Box> rest;
  if (!box.empty()) rest.push_back(box);
  for (const Box& hole : holes) {
    if (rest.empty()) break;
    std::vector<Box> parts;
    for (const Box& part : rest) append_outside(part, hole, parts);
    rest = std::move(parts);
  }
  return rest;
}

std::vector<Box> cut(const Box& box, Index most) {
  if (box.empty()) return {};
  if (box.volume() <= most) return {box};
  int d = 0;
  while (box[d].size() == 1) ++d;
  const Index around = box.volume() / box[d].size();
  const Index edge = std::max<Index>(1, most / around);
  std::vector<Box> parts;
  for (Index lo = box[d].lo; lo < box[d].hi; lo += edge) {
    Box part = box;
    part[d] = {lo, std::min(lo + edge, box[d].hi)};
    std::ranges::copy(cut(part, most), std::back_inserter(parts));
  }
  return parts;
}

Box whole_box(std::span<const Index> shape) {
  Box box;
  box.rank = static_cast<int>(shape.size());
  for (int d = 0; d < box.rank; ++d) box[d] = {0, shape[idx(d)]};
  return box;
}

Box share_of_rows(std::span<const Index> shape, int rank, int ranks) {
  Box box = whole_box(shape);
  const auto bound = [&](Index rows, int r) { return static_cast<Index>(static_cast<__int128>(rows) * r / ranks); };
  if (box.rank > 0) box[0] = {bound(shape[0], rank), bound(shape[0], rank + 1)};
  return box;
}

std::vector<Box> united(std::vector<Box> boxes) {
  const int rank = boxes.empty() ? 0 : boxes.front().rank;
  for (int d = rank - 1; d >= 0; --d) {
    // Sorts boxes so that those differing only along d are adjacent.
    const auto key = [d](const Box& box) {
      std::vector<Index> numbers;
      for (int e = 0; e < box.rank; ++e) {
        if (e != d) numbers.insert(numbers.end(), {box[e].lo, box[e].hi});
      }
      return numbers;
    };
    std::map<std::vector<Index>, std::vector<Box>> lines;
    for (const Box& box : boxes) lines[key(box)].push_back(box);
    boxes.clear();
    for (auto& [numbers, line] : lines) {
      std::ranges::sort(line, {}, [d](const Box& box) { return box[d].lo; });
      boxes.push_back(line.front());
      for (const Box& box : std::span(line).subspan(1)) {
        if (boxes.back()[d].hi == box[d].lo) {
          boxes.back()[d].hi = box[d].hi;
        } else {
          boxes.push_back(box);
        }
      }
    }
  }
  return boxes;
}

}  // namespace tdsl::rt
