#include "runtime/kernels/copy.h"

#include "runtime/check.h"

#include <cstring>

namespace tdsl::rt {

using plan::idx;

Operand row_major(std::byte* data, const Box& box) {
  Operand operand;
  operand.data = data;
  operand.box = box;
  Index stride = 1;
  for (int d = box.rank - 1; d >= 0; --d) {
    operand.stride[idx(d)] = stride;
    stride *= box[d].size();
  }
  return operand;
}

Operand part_of(const Operand& whole, const Box& box, Index element_bytes) {
  Operand part = whole;
  part.box = box;
  if (box.empty()) {
    part.data = nullptr;
    return part;
  }
  Index offset = 0;
  for (int d = 0; d < box.rank; ++d) offset += (box[d].lo - whole.box[d].lo) * whole.stride[idx(d)];
  part.data = whole.data + offset * element_bytes;
  return part;
}

void copy_box(const Operand& from, const Operand& to, const Box& box, Index element_bytes) {
  if (box.empty()) return;
  const Operand source = part_of(from, box, element_bytes);
  const Operand target = part_of(to, box, element_bytes);
  // Trailing dimensions that are contiguous on both sides are copied as one row.
  int rows = box.rank;
  Index row = 1;
  while (rows > 0 && source.stride[idx(rows - 1)] == row && target.stride[idx(rows - 1)] == row) {
    row *= box[rows - 1].size();
    --rows;
  }
  const auto bytes = static_cast<std::size_t>(row * element_bytes);
  std::array<Index, plan::kMaxRank> x{};
  Index from_offset = 0;
  Index to_offset = 0;
  while (true) {
    std::memcpy(target.data + to_offset * element_bytes, source.data + from_offset * element_bytes, bytes);
    int d = rows - 1;
    for (; d >= 0; --d) {
      from_offset += source.stride[idx(d)];
      to_offset += target.stride[idx(d)];
      if (++x[idx(d)] < box[d].size()) break;
      from_offset -= x[idx(d)] * source.stride[idx(d)];
      to_offset -= x[idx(d)] * target.stride[idx(d)];
      x[idx(d)] = 0;
    }
    if (d < 0) return;
  }
}

Kernel copy_kernel(Index element_bytes) {
  return
      [element_bytes](const TaskArgs& args) { copy_box(args.inputs[0], args.outputs[0], args.out_box, element_bytes); };
}

Kernel block_copy_kernel() {
  return [](const TaskArgs& args) {
    const std::span<const BlockPart> parts = args.inputs[0].parts;
    TDSL_CHECK(parts.size() == 1 && parts[0].box == args.out_box, "sized blocks are copied whole");
    if (parts[0].data != nullptr)
      std::memcpy(args.sink().begin(parts[0].bytes), parts[0].data, static_cast<std::size_t>(parts[0].bytes));
  };
}

}  // namespace tdsl::rt
