#include "runtime/plan/signature.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

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

constexpr std::size_t kTypicalText = 512;

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
      append_signature(text, placed->distribution);
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

/// All members of an operation that a decision depends on.
class SignatureText : public OpText<SignatureText> {
 public:
  SignatureText(const Op& op, const KnownOperands& operands, bool estimated)
      : op_(op), operands_(operands), estimated_(estimated) {
    text_.reserve(kTypicalText);
  }

  void estimate(const char*, double x) {
    if (estimated_) return append_power(text_, x);
    append_number(text_, static_cast<Index>(std::bit_cast<std::uint64_t>(x) >> 24));
  }
  void tensor(const char*, TensorId id) {
    if (id >= 0) operands_.append(text_, id);
  }
  void outputs(const std::vector<TensorDesc>& outputs) {
    text_ += 'o';
    for (const TensorDesc& output : outputs) {
      append_number(text_, op_.op_class == OpClass::kLoop ? output.bytes() : output.element.bytes);
      append_stored(text_, output);
    }
  }

 private:
  const Op& op_;
  OperandTexts operands_;
  bool estimated_;
};

}  // namespace

void append_number(std::string& text, Index x) {
  std::array<char, 24> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr;
  text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  text += ',';
}

void append_storage(std::string& text, const TensorDesc& tensor) {
  if (!tensor.sized()) return;
  text += tensor.storage.entries ? 'e' : tensor.storage.values ? 's' : 'p';
  for (const Level level : tensor.storage.levels) text += level == Level::kDense ? 'd' : 'c';
  for (const int d : tensor.storage.order) append_number(text, d);
  for (const bool uncut : tensor.uncut) text += uncut ? 'w' : 'k';
  if (tensor.rows != nullptr) append_number(text, static_cast<Index>(tensor.rows->hash()));
  for (const double x : {tensor.stored.lo, tensor.stored.expected, tensor.stored.hi})
    append_number(text, Estimate::whole(x));
}

void append_signature(std::string& text, const Distribution& distribution) {
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
    for (const GridAxis& axis : dim.axes) {
      append_number(text, axis.size);
      append_number(text, axis.stride);
    }
  }
  for (const GridAxis& axis : distribution.repeat()) {
    text += '*';
    append_number(text, axis.size);
    append_number(text, axis.stride);
  }
  if (distribution.by_table()) {
    text += 't';
    append_number(text, static_cast<Index>(distribution.owners().hash()));
  }
  if (const std::optional<RankColumns>& columns = distribution.columns()) {
    text += 'c';
    for (const Index x : {columns->count, Index{columns->row_dim}, Index{columns->column_dim}}) append_number(text, x);
  }
}

std::string signature_of(const Op& op, const KnownOperands& operands) {
  const auto describes = [&](TensorId id) -> const TensorDesc* {
    if (const PlacedTensor* placed = operands.placed(id)) return &placed->desc;
    const Op* source = operands.waiting(id);
    return source == nullptr ? nullptr : &source->outputs.front();
  };
  const bool estimated =
      std::ranges::any_of(op.outputs, is_estimated) || std::ranges::any_of(op.reads, [&](const Access& access) {
        const TensorDesc* operand = describes(access.tensor);
        return operand != nullptr && is_estimated(*operand);
      });
  SignatureText text(op, operands, estimated);
  visit_fields(text, op);
  return text.take();
}

}  // namespace tdsl::plan
