#include "ir/algebra/kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "ir/algebra/error.h"
#include "ir/graph/check.h"
#include "ir/text/print.h"

namespace tdsl::ir::algebra {

namespace {

using Kind = Kernel::Kind;

/// How a kernel processes elements.
enum class Way : std::uint8_t {
  kMap,        ///< one array, element by element
  kRearrange,  ///< copies elements of one array to other positions
  kFold,       ///< sums elements of one array
  kZip,        ///< two arrays, element by element
  kProduct,    ///< multiplies arrays and sums
  kOther
};

struct Properties {
  std::string_view name;
  Way way = Way::kOther;
  bool linear = false;      ///< f(a + b) = f(a) + f(b)
  bool increasing = false;  ///< for maps: a <= b implies f(a) <= f(b)
  bool aggregates = false;
  bool keeps_zero = true;
};

// In the order of Kernel::Kind. `scale` is increasing for nonnegative factors.
constexpr std::array<Properties, 23> kProperties = {{
    {"relu", Way::kMap, false, true, false, true},
    {"relugrad", Way::kMap, false, true, false, true},
    {"sigmoid", Way::kMap, false, true, false, false},
    {"neg", Way::kMap, true, false, false, true},
    {"scale", Way::kMap, true, false, false, true},
    {"shift", Way::kMap, false, true, false, false},
    {"transpose", Way::kRearrange, true, false, false, true},
    {"diag", Way::kRearrange, true, false, false, true},
    {"sum", Way::kFold, true, false, false, true},
    {"add", Way::kZip, false, false, true, true},
    {"sub", Way::kZip, false, false, false, true},
    {"mul", Way::kZip, false, false, true, true},
    {"min", Way::kZip, false, false, true, true},
    {"max", Way::kZip, false, false, true, true},
    {"matmul", Way::kProduct, false, false, false, true},
    {"matmul_tn", Way::kProduct, false, false, false, true},
    {"matmul_nt", Way::kProduct, false, false, false, true},
    {"einsum", Way::kProduct, false, false, false, true},
    {"pair", Way::kOther, false, false, false, true},
    {"item", Way::kRearrange, true, false, false, true},
    {"argmin", Way::kOther, false, false, false, true},
    {"minindex", Way::kOther, false, false, true, true},
    {"call", Way::kOther, false, false, true, false},
}};

const Properties& properties_of(const Kernel& k) { return kProperties[static_cast<std::size_t>(k.kind)]; }

[[noreturn]] void misfit(const Kernel& kernel, const BlockType& operands, std::string_view reason) {
  throw AlgebraError(fmt::format("{} of {}: {}", kernel_text(kernel), block_text(operands), reason));
}

/// Extents of 1 are broadcast.
Bounds zipped(const Kernel& kernel, const BlockType& operands, std::size_t left, std::size_t right) {
  const Bounds& a = operands[left];
  const Bounds& b = operands[right];
  if (a.size() != b.size()) misfit(kernel, operands, "the ranks differ");
  Bounds result;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (a[d] != b[d] && a[d] != 1 && b[d] != 1) misfit(kernel, operands, "the extents differ");
    result.push_back(a[d] == 1 ? b[d] : a[d]);
  }
  return result;
}

BlockType zip_result(const Kernel& kernel, const BlockType& operands) {
  if (operands.empty() || operands.size() % 2 != 0) misfit(kernel, operands, "an even number of arrays is needed");
  BlockType result;
  for (std::size_t k = 0; k < operands.size() / 2; ++k)
    result.push_back(zipped(kernel, operands, k, operands.size() / 2 + k));
  return result;
}

BlockType product_result(const Kernel& kernel, const BlockType& operands) {
  const Labels labels = *labels_of(kernel);
  if (labels.operands.size() != operands.size())
    misfit(kernel, operands, fmt::format("{} arrays are needed", labels.operands.size()));
  std::map<char, Index> extents;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (labels.operands[k].size() != operands[k].size()) misfit(kernel, operands, "the ranks differ from the labels'");
    for (std::size_t d = 0; d < operands[k].size(); ++d) {
      const auto [place, first] = extents.try_emplace(labels.operands[k][d], operands[k][d]);
      if (!first && place->second != operands[k][d])
        misfit(kernel, operands, fmt::format("label {} has two extents", labels.operands[k][d]));
    }
  }
  Bounds result;
  for (const char label : labels.result) result.push_back(extents.at(label));
  return {result};
}

/// Kernels with one operand array.
Bounds single_result(const Kernel& kernel, const BlockType& operands) {
  if (operands.size() != 1) misfit(kernel, operands, "one array is needed");
  Bounds bounds = operands[0];
  switch (kernel.kind) {
    case Kind::kTranspose:
      if (bounds.size() != 2) misfit(kernel, operands, "a matrix is needed");
      return {bounds[1], bounds[0]};
    case Kind::kDiag:
      if (bounds.size() != 2 || bounds[0] != bounds[1]) misfit(kernel, operands, "a square matrix is needed");
      return {bounds[0]};
    case Kind::kSum:
      if (kernel.position < 0 || kernel.position >= static_cast<int>(bounds.size()))
        misfit(kernel, operands, "there is no such dimension");
      bounds.erase(bounds.begin() + kernel.position);
      return bounds;
    default: return bounds;
  }
}

BlockType other_result(const Kernel& kernel, const BlockType& operands) {
  switch (kernel.kind) {
    case Kind::kPair: return operands;
    case Kind::kCall: return kernel.result;
    case Kind::kItem:
      if (kernel.position < 0 || kernel.position >= static_cast<int>(operands.size()))
        misfit(kernel, operands, "there is no such array");
      return {operands[static_cast<std::size_t>(kernel.position)]};
    case Kind::kArgmin:
      if (operands.size() != 2 || operands[0] != operands[1])
        misfit(kernel, operands, "values and their positions are needed");
      return {{}, {}};
    case Kind::kMinIndex:
      if (operands != BlockType(4)) misfit(kernel, operands, "two pairs of scalars are needed");
      return {{}, {}};
    default: break;
  }
  TDSL_CHECK(false, "a kernel without a result");
  return {};
}

/// The text after the name: `(2)`, `("ij->i")`, or nothing.
std::string parameters_text(const Kernel& k) {
  switch (k.kind) {
    case Kind::kScale:
    case Kind::kShift: return fmt::format("({})", k.number);
    case Kind::kSum:
    case Kind::kItem: return fmt::format("({})", k.position);
    case Kind::kEinsum: return fmt::format("({})", quoted(k.text));
    case Kind::kCall: {
      std::string text = quoted(k.text);
      for (const Bounds& bounds : k.result) text += fmt::format(", {}", key_text(bounds));
      return "(" + text + ")";
    }
    default: return "";
  }
}

}  // namespace

Index floats_of(const BlockType& block) {
  return std::accumulate(block.begin(), block.end(), Index{0},
                         [](Index sum, const Bounds& bounds) { return sum + volume(bounds); });
}

std::string block_text(const BlockType& block) {
  std::vector<std::string> arrays;
  std::ranges::transform(block, std::back_inserter(arrays), key_text);
  return fmt::format("{}", fmt::join(arrays, " "));
}

std::string_view name_of(Kernel::Kind kind) { return kProperties[static_cast<std::size_t>(kind)].name; }

std::string kernel_text(const Kernel& kernel) { return std::string(name_of(kernel.kind)) + parameters_text(kernel); }

std::string kernels_text(const Kernels& kernels) {
  std::vector<std::string> steps;
  std::ranges::transform(kernels, std::back_inserter(steps), kernel_text);
  return fmt::format("{}", fmt::join(steps, " then "));
}

BlockType result_of(const Kernel& kernel, const BlockType& operands) {
  switch (properties_of(kernel).way) {
    case Way::kZip: return zip_result(kernel, operands);
    case Way::kProduct: return product_result(kernel, operands);
    case Way::kMap:
    case Way::kFold: return {single_result(kernel, operands)};
    case Way::kRearrange:
      return kernel.kind == Kind::kItem ? other_result(kernel, operands) : BlockType{single_result(kernel, operands)};
    case Way::kOther: break;
  }
  return other_result(kernel, operands);
}

BlockType result_of(const Kernels& kernels, const BlockType& operands) {
  BlockType block = operands;
  for (const Kernel& kernel : kernels) block = result_of(kernel, block);
  return block;
}

std::optional<Labels> labels_of(const Kernel& kernel) {
  switch (kernel.kind) {
    case Kind::kMatmul: return Labels{{"ik", "kj"}, "ij"};
    case Kind::kMatmulTn: return Labels{{"ki", "kj"}, "ij"};
    case Kind::kMatmulNt: return Labels{{"ik", "jk"}, "ij"};
    case Kind::kEinsum: break;
    default: return std::nullopt;
  }
  Labels labels{{""}, ""};
  const std::size_t arrow = kernel.text.find("->");
  if (arrow == std::string::npos) throw AlgebraError(fmt::format("einsum {} has no `->`", quoted(kernel.text)));
  for (const char c : kernel.text.substr(0, arrow)) {
    if (c == ',') {
      labels.operands.emplace_back();
    } else {
      labels.operands.back() += c;
    }
  }
  labels.result = kernel.text.substr(arrow + 2);
  for (const char c : labels.result) {
    const bool known = std::ranges::any_of(labels.operands, [&](const auto& o) { return o.find(c) != o.npos; });
    if (!known || std::ranges::count(labels.result, c) > 1)
      throw AlgebraError(fmt::format("einsum {}: label {} of the result", quoted(kernel.text), c));
  }
  return labels;
}

bool aggregates(const Kernel& kernel) { return properties_of(kernel).aggregates; }

bool zero_is_identity(const Kernel& kernel) { return kernel.kind == Kind::kAdd; }

bool keeps_zero(const Kernel& kernel) {
  return properties_of(kernel).keeps_zero || (kernel.kind == Kind::kShift && kernel.number == 0);
}

bool keeps_zero(const Kernels& kernels) {
  return std::ranges::all_of(kernels, [](const Kernel& k) { return keeps_zero(k); });
}

bool zero_annihilates(const Kernel& kernel) {
  return properties_of(kernel).way == Way::kProduct || kernel.kind == Kind::kMul;
}

bool distributes(const Kernel& f, const Kernel& op) {
  const Properties& p = properties_of(f);
  const bool sums = op.kind == Kind::kAdd || op.kind == Kind::kSub;
  if (sums && p.linear) return true;
  if (properties_of(op).way == Way::kZip && p.way == Way::kRearrange) return true;
  const bool selects = op.kind == Kind::kMin || op.kind == Kind::kMax;
  return selects && (p.increasing || (f.kind == Kind::kScale && f.number >= 0));
}

bool distributes(const Kernels& f, const Kernel& op) {
  return std::ranges::all_of(f, [&](const Kernel& k) { return distributes(k, op); });
}

}  // namespace tdsl::ir::algebra
