#include "runtime/plan/space/task_size.h"

#include <algorithm>
#include <limits>

#include "runtime/plan/space/placement.h"
#include "runtime/plan/space/placement_parts.h"
#include "runtime/plan/space/tiles.h"

namespace tdsl::plan {

namespace {

const TensorDesc& described(const Operands& operands, TensorId id) {
  const PlacedTensor* placed = operands.placed(id);
  return placed != nullptr ? placed->desc : operands.describe(id);
}

/// The labels of a block of an operand or of the result.
using BlockLabels = std::vector<int>;

std::vector<BlockLabels> blocks_of(const Op& op) {
  std::vector<BlockLabels> blocks(1);
  for (const OutSubscript& s : op.out) {
    if (s.label >= 0) blocks.front().push_back(s.label);
  }
  for (const Access& access : op.own_reads()) {
    BlockLabels& block = blocks.emplace_back();
    for (const DimAccess& dim : access.dims) {
      for (const Affine::Term& term : dim.terms) block.push_back(term.label);
    }
  }
  for (BlockLabels& block : blocks) {
    std::sort(block.begin(), block.end());
    block.erase(std::unique(block.begin(), block.end()), block.end());
  }
  return blocks;
}

/// Per label, the first label that is in the same blocks: together they are one index.
std::vector<std::size_t> first_alike(std::size_t labels, const std::vector<BlockLabels>& blocks) {
  std::vector<std::vector<bool>> has(labels, std::vector<bool>(blocks.size(), false));
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const int label : blocks[b]) has[idx(label)][b] = true;
  }
  std::vector<std::size_t> first;
  for (const std::vector<bool>& mine : has)
    first.push_back(static_cast<std::size_t>(std::find(has.begin(), has.end(), mine) - has.begin()));
  return first;
}

/// The read with the most elements; null if there are no reads.
const Access* largest_read(const Op& op, const Operands& operands) {
  const Access* largest = nullptr;
  for (const Access& access : op.own_reads()) {
    if (largest == nullptr ||
        described(operands, access.tensor).elements() > described(operands, largest->tensor).elements())
      largest = &access;
  }
  return largest;
}

}  // namespace

std::vector<Index> longest_edges(const Op& op, Index block, Index least) {
  const std::vector<BlockLabels> blocks = blocks_of(op);
  const std::vector<std::size_t> first = first_alike(op.labels.size(), blocks);
  const auto extent = [&](std::size_t label) { return std::max<Index>(op.labels[label].range.size(), 1); };
  std::vector<Index> together(first.size(), 1), edges(first.size(), std::numeric_limits<Index>::max());
  for (std::size_t label = 0; label < first.size(); ++label)
    together[first[label]] = product(together[first[label]], extent(label));
  for (const BlockLabels& labels : blocks) {
    for (const int label : labels) {
      if (first[idx(label)] != idx(label)) continue;
      Index others = 1;
      for (const int other : labels) {
        if (other != label && first[idx(other)] == idx(other))
          others = product(others, std::min(together[idx(other)], kContractionEdge));
      }
      edges[idx(label)] = std::min(edges[idx(label)], block / others);
    }
  }
  for (Index& edge : edges) edge = std::max(edge, least);
  std::vector<Index> longest(first.size());
  for (std::size_t label = first.size(); label-- > 0;) {
    Index& edge = edges[first[label]];
    longest[label] = edge;
    edge = std::max<Index>(edge / extent(label), 1);
  }
  return longest;
}

std::vector<Index> longest_reduced(const Op& op, const Operands& operands, Index block) {
  std::vector<Index> longest(op.labels.size(), kMapTileElements);
  for (const Access& access : op.own_reads()) {
    const Index elements = described(operands, access.tensor).elements();
    for (std::size_t label = 0; label < longest.size(); ++label) {
      const auto has_label = [&](const Affine::Term& term) { return term.label == static_cast<int>(label); };
      const bool read = std::any_of(access.dims.begin(), access.dims.end(), [&](const DimAccess& dim) {
        return std::any_of(dim.terms.begin(), dim.terms.end(), has_label);
      });
      const Index extent = std::max<Index>(1, op.labels[label].range.size());
      if (read)
        longest[label] = std::min(longest[label], std::max<Index>(1, block / std::max<Index>(1, elements / extent)));
    }
  }
  return longest;
}

Index largest_block(const Op& op, const PlanInputs& inputs) {
  Index bytes = std::numeric_limits<Index>::max();
  if (op.outputs.empty()) return kProductBlock;
  // Two operands, double-buffered; the rest of a memory limit is for the tensors.
  if (inputs.window > 0) bytes = std::min(bytes, inputs.window / 4);
  if (inputs.memory > 0) bytes = std::min(bytes, inputs.memory / (16 * inputs.threads));
  return std::min(kProductBlock, bytes / op.outputs.front().element.bytes);
}

double seconds_alone(const Op& op, const Operands& operands, const Machine& machine) {
  const auto sized = [](const TensorDesc& tensor) { return tensor.sized(); };
  const bool known = op.op_class == OpClass::kMap || op.op_class == OpClass::kReduce ||
                     op.op_class == OpClass::kSource || op.op_class == OpClass::kContraction;
  if (!known || std::ranges::any_of(op.outputs, sized) ||
      std::ranges::any_of(op.labels, [](const LabelDesc& label) { return label.from_data; }))
    return std::numeric_limits<double>::infinity();
  double bytes = 0;
  for (const Access& access : op.reads) {
    const TensorDesc& tensor = described(operands, access.tensor);
    if (tensor.sized()) return std::numeric_limits<double>::infinity();
    bytes += static_cast<double>(tensor.bytes());
  }
  const double streamed = streams_operands(op) ? bytes / machine.stream_rate : 0;
  return std::max(streamed, points_of(op) * seconds_of_point(op, machine));
}

Stream stream_of(const Op& op, const Operands& operands) {
  Stream stream;
  const Access* largest = largest_read(op, operands);
  const double result = elements_of(op.shape);
  double elements = 0, bytes = 0;
  for (const Access& access : op.own_reads()) {
    const TensorDesc& tensor = described(operands, access.tensor);
    elements += static_cast<double>(tensor.elements());
    bytes += static_cast<double>(tensor.bytes());
  }
  const double points = points_of(op);
  stream.bound = largest != nullptr && result > 0 && points < kStreamPoints * (elements + result);
  if (!stream.bound) return stream;
  stream.bytes = bytes / result;
  stream.flops = points * op.flops_per_point / result;
  const bool may_split =
      op.combine != Combine::kNone && op.base < 0 && !op.reduce.empty() && op.most_split_labels() > 0;
  const DimAccess* last = largest->dims.empty() ? nullptr : &largest->dims.back();
  for (const OutSubscript& s : op.out) {
    // Rows stay whole, or long, for contiguous memory access.
    const bool along_rows = largest->dims.size() > 1 && s.label >= 0 && parts::mentions(*last, s.label);
    const bool never = s.label < 0 || (along_rows && may_split);
    stream.thinnest.push_back(never ? std::numeric_limits<Index>::max() : along_rows ? kShortRow : kFewRows);
  }
  return stream;
}

}  // namespace tdsl::plan
