#include "runtime/plan/signature.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tdsl::plan {

namespace {

/// True if the number of stored elements is an estimate, which may change in the next iteration of a loop; counts by
/// rows are exact.
bool is_estimated(const TensorDesc& tensor) { return tensor.sized() && tensor.rows == nullptr; }

/// Rounded to a power of four, so that a tensor that fills up in a loop is replanned at most about 16 times.
void append_power(std::string& text, double x) {
  append_number(text, x > 0 ? static_cast<Index>(std::floor(std::log2(x) / 2)) : -1000);
}

/// Like append_storage, with estimates rounded to a power of four.
void append_stored(std::string& text, const TensorDesc& tensor) {
  if (!is_estimated(tensor)) return append_storage(text, tensor);
  TensorDesc rounded = tensor;
  rounded.stored = {};
  append_storage(text, rounded);
  for (const double x : {tensor.stored.lo, tensor.stored.expected, tensor.stored.hi}) append_power(text, x);
}

void append_labels(std::string& text, const Op& op) {
  for (const LabelDesc& label : op.labels) {
    append_number(text, label.range.lo);
    append_number(text, label.range.hi * 2 + (label.from_data ? 1 : 0));
  }
}

void append_outputs(std::string& text, const Op& op) {
  text += 'o';
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    append_number(text, op.shape[d]);
    append_number(text, op.out[d].label);
    append_number(text, op.out[d].coefficient);
    append_number(text, op.out[d].constant);
    if (op.is_uncut(d)) text += 'u';
  }
  text += 'r';
  for (const ReduceLabel& r : op.reduce) append_number(text, r.label);
  for (Index edge : op.tile) append_number(text, -edge);
  for (const TensorDesc& output : op.outputs) {
    append_number(text, op.op_class == OpClass::kLoop ? output.bytes() : output.element.bytes);
    append_stored(text, output);
  }
  for (int read : op.continues) append_number(text, read);
}

void append_subscripts(std::string& text, const Access& access) {
  for (const DimAccess& dim : access.dims) {
    append_number(text, dim.whole ? -1 : static_cast<Index>(dim.terms.size()));
    for (const Affine::Term& term : dim.terms) {
      append_number(text, term.label);
      append_number(text, term.coefficient);
    }
    append_number(text, dim.offset.lo);
    append_number(text, dim.offset.hi);
    append_number(text, dim.divisor);
  }
}

/// Texts of operands; a repeated tensor refers to its first occurrence.
class OperandTexts {
 public:
  explicit OperandTexts(const KnownOperands& operands) : operands_(operands) {}

  void append(std::string& text, TensorId id) {
    const auto known = std::find(order_.begin(), order_.end(), id);
    append_number(text, known - order_.begin());
    if (known != order_.end()) return;
    order_.push_back(id);
    if (const PlacedTensor* placed = operands_.placed(id)) {
      append_number(text, placed->desc.element.bytes);
      append_stored(text, placed->desc);
      text += signature_of(placed->distribution);
    } else if (const Op* source = operands_.waiting(id)) {
      text += 'w';
      append_number(text, source->outputs.front().element.bytes);
      append_stored(text, source->outputs.front());
      for (Index extent : source->shape) append_number(text, extent);
      for (Index edge : source->tile) append_number(text, -edge);
    }
  }

 private:
  const KnownOperands& operands_;
  std::vector<TensorId> order_;
};

}  // namespace

void append_number(std::string& text, Index x) {
  text += std::to_string(x);
  text += ',';
}

void append_storage(std::string& text, const TensorDesc& tensor) {
  if (!tensor.sized()) return;
  text += tensor.storage.values ? 's' : 'p';
  for (const Level level : tensor.storage.levels) text += level == Level::kDense ? 'd' : 'c';
  for (const int d : tensor.storage.order) append_number(text, d);
  for (const bool uncut : tensor.uncut) text += uncut ? 'w' : 'k';
  if (tensor.rows != nullptr) append_number(text, static_cast<Index>(tensor.rows->hash()));
  for (const double x : {tensor.stored.lo, tensor.stored.expected, tensor.stored.hi})
    append_number(text, Estimate::whole(x));
}

std::string signature_of(const Distribution& distribution) {
  std::string text;
  append_number(text, static_cast<Index>(distribution.kind()));
  append_number(text, distribution.home());
  for (int k = 0; k < distribution.rank(); ++k) {
    const Tiling& tiling = distribution.tiling(k);
    append_number(text, tiling.extent());
    append_number(text, tiling.tiles());
    append_number(text, tiling.tiles() > 0 ? tiling.tile(0).size() : 0);
    if (tiling.ends() != nullptr) {
      for (const Index end : *tiling.ends()) append_number(text, end);
    }
  }
  for (const GridDim& dim : distribution.grid_dims()) {
    text += '|';
    append_number(text, dim.q);
    append_number(text, dim.shift);
    for (const GridAxis& axis : dim.axes) {
      append_number(text, axis.size);
      append_number(text, axis.div);
      append_number(text, axis.stride);
    }
  }
  for (const GridAxis& axis : distribution.repeat()) {
    text += '*';
    append_number(text, axis.size);
    append_number(text, axis.stride);
  }
  if (distribution.kind() == Distribution::Kind::kTable) {
    append_number(text, static_cast<Index>(distribution.owners().hash()));
  }
  append_number(text, distribution.columns().columns);
  append_number(text, distribution.columns().row_dim);
  append_number(text, distribution.columns().column_dim);
  return text;
}

std::string signature_of(const Op& op, const KnownOperands& operands) {
  std::string text;
  append_number(text, static_cast<Index>(op.op_class));
  append_number(text, op.home);
  append_number(text, static_cast<Index>(op.combine) * 2 + (op.replicated ? 1 : 0));
  const auto describes = [&](TensorId id) -> const TensorDesc* {
    if (const PlacedTensor* placed = operands.placed(id)) return &placed->desc;
    const Op* source = operands.waiting(id);
    return source == nullptr ? nullptr : &source->outputs.front();
  };
  const bool estimated = std::any_of(op.outputs.begin(), op.outputs.end(), is_estimated) ||
                         std::any_of(op.reads.begin(), op.reads.end(), [&](const Access& access) {
                           const TensorDesc* operand = describes(access.tensor);
                           return operand != nullptr && is_estimated(*operand);
                         });
  if (estimated) {
    append_power(text, op.flops_per_point);
  } else {
    append_number(text, static_cast<Index>(std::bit_cast<std::uint64_t>(op.flops_per_point) >> 24));
  }
  if (op.epilogue) text += 'e';
  append_number(text, op.by_rows ? 1 + static_cast<Index>(op.product_share * 1000) : 0);
  append_labels(text, op);
  append_outputs(text, op);
  OperandTexts texts(operands);
  for (const Access& access : op.reads) {
    text += 'a';
    texts.append(text, access.tensor);
    append_subscripts(text, access);
  }
  text += 'b';
  if (op.base >= 0) texts.append(text, op.base);
  return text;
}

}  // namespace tdsl::plan
