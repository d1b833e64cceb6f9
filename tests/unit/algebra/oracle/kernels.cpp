#include "tests/unit/algebra/oracle/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/algebra/error.h"
#include "ir/graph/check.h"

namespace tdsl::ir::algebra {

namespace {

using Kind = Kernel::Kind;

std::size_t offset_of(const Bounds& bounds, const Key& index) {
  Index offset = 0;
  for (std::size_t d = 0; d < bounds.size(); ++d) offset = offset * bounds[d] + index[d];
  return static_cast<std::size_t>(offset);
}

Array zeros(const Bounds& bounds) { return {bounds, std::vector<double>(static_cast<std::size_t>(volume(bounds)))}; }

double mapped(const Kernel& k, double x) {
  switch (k.kind) {
    case Kind::kRelu: return std::max(x, 0.0);
    case Kind::kReluGrad: return x > 0 ? 1 : 0;
    case Kind::kSigmoid: return 1 / (1 + std::exp(-x));
    case Kind::kNeg: return -x;
    case Kind::kScale: return k.number * x;
    case Kind::kShift: return k.number + x;
    default: break;
  }
  TDSL_CHECK(false, "no map");
  return 0;
}

double zipped(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::kAdd: return a + b;
    case Kind::kSub: return a - b;
    case Kind::kMul: return a * b;
    case Kind::kMin: return std::min(a, b);
    case Kind::kMax: return std::max(a, b);
    default: break;
  }
  TDSL_CHECK(false, "no function of two elements");
  return 0;
}

Array zip(Kind kind, const Array& a, const Array& b) {
  Bounds bounds = a.bounds;
  for (std::size_t d = 0; d < bounds.size(); ++d) bounds[d] = a.bounds[d] == 1 ? b.bounds[d] : a.bounds[d];
  Array result = zeros(bounds);
  for_each_below(bounds, [&](const Key& index) {
    const auto element = [&](const Array& array) {
      Key at = index;
      for (std::size_t d = 0; d < at.size(); ++d) at[d] = array.bounds[d] == 1 ? 0 : at[d];
      return array.elements[offset_of(array.bounds, at)];
    };
    result.elements[offset_of(bounds, index)] = zipped(kind, element(a), element(b));
  });
  return result;
}

Block zip_all(Kind kind, const Block& operands) {
  Block result;
  const std::size_t half = operands.size() / 2;
  for (std::size_t k = 0; k < half; ++k) result.push_back(zip(kind, operands[k], operands[half + k]));
  return result;
}

/// Sums the products of elements over all labels, in row-major order of the result's labels first.
Array product(const Labels& labels, const Block& operands) {
  std::string order = labels.result;
  std::map<char, Index> extents;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    for (std::size_t d = 0; d < operands[k].bounds.size(); ++d) {
      const char label = labels.operands[k][d];
      extents[label] = operands[k].bounds[d];
      if (order.find(label) == std::string::npos) order += label;
    }
  }
  Bounds all;
  for (const char label : order) all.push_back(extents.at(label));
  Array result = zeros({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(labels.result.size())});
  for_each_below(all, [&](const Key& point) {
    double term = 1;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      Key index;
      for (const char label : labels.operands[k]) index.push_back(point[order.find(label)]);
      term *= operands[k].elements[offset_of(operands[k].bounds, index)];
    }
    result.elements[offset_of(result.bounds, point)] += term;
  });
  return result;
}

Array diagonal(const Array& a) {
  Array result = zeros({a.bounds[0]});
  for (Index i = 0; i < a.bounds[0]; ++i)
    result.elements[static_cast<std::size_t>(i)] = a.elements[offset_of(a.bounds, {i, i})];
  return result;
}

Array transposed(const Array& a) {
  Array result = zeros({a.bounds[1], a.bounds[0]});
  for_each_below(a.bounds, [&](const Key& i) {
    result.elements[offset_of(result.bounds, {i[1], i[0]})] = a.elements[offset_of(a.bounds, i)];
  });
  return result;
}

Array summed(const Array& a, int dim) {
  const auto without_dim = [&](Key key) {
    key.erase(key.begin() + dim);
    return key;
  };
  Array result = zeros(without_dim(a.bounds));
  for_each_below(a.bounds, [&](const Key& i) {
    result.elements[offset_of(result.bounds, without_dim(i))] += a.elements[offset_of(a.bounds, i)];
  });
  return result;
}

Block scalars(double value, double position) { return {Array{{}, {value}}, Array{{}, {position}}}; }

/// The smallest (value, position) pair; ties are broken by position.
Block least(const std::vector<double>& values, const std::vector<double>& positions) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < values.size(); ++k) {
    if (std::pair(values[k], positions[k]) < std::pair(values[best], positions[best])) best = k;
  }
  return scalars(values.at(best), positions.at(best));
}

}  // namespace

Array array_of(Bounds bounds, std::vector<double> elements) {
  TDSL_CHECK(static_cast<std::size_t>(volume(bounds)) == elements.size(),
             "an array has as many elements as its bounds say");
  return {std::move(bounds), std::move(elements)};
}

Block apply(const Kernel& kernel, const Block& operands, const Calls& calls) {
  if (const auto labels = labels_of(kernel)) return {product(*labels, operands)};
  switch (kernel.kind) {
    case Kind::kAdd:
    case Kind::kSub:
    case Kind::kMul:
    case Kind::kMin:
    case Kind::kMax: return zip_all(kernel.kind, operands);
    case Kind::kTranspose: return {transposed(operands[0])};
    case Kind::kDiag: return {diagonal(operands[0])};
    case Kind::kSum: return {summed(operands[0], kernel.position)};
    case Kind::kPair: return operands;
    case Kind::kItem: return {operands[static_cast<std::size_t>(kernel.position)]};
    case Kind::kArgmin: return least(operands[0].elements, operands[1].elements);
    case Kind::kMinIndex:
      return least({operands[0].elements[0], operands[2].elements[0]},
                   {operands[1].elements[0], operands[3].elements[0]});
    case Kind::kCall: {
      const auto found = calls.find(kernel.text);
      if (found == calls.end())
        throw AlgebraError(fmt::format("nothing is known of the kernel `{}` but its name", kernel.text));
      return found->second(operands);
    }
    default: break;
  }
  Array result = operands[0];
  for (double& x : result.elements) x = mapped(kernel, x);
  return {std::move(result)};
}

Block apply(const Kernels& kernels, Block operands, const Calls& calls) {
  for (const Kernel& kernel : kernels) operands = apply(kernel, operands, calls);
  return operands;
}

Array piece_of(const Array& array, int dim, Index size, Index piece) {
  const auto d = static_cast<std::size_t>(dim);
  Bounds bounds = array.bounds;
  bounds[d] = size;
  Array result = zeros(bounds);
  for_each_below(bounds, [&](const Key& index) {
    Key from = index;
    from[d] += piece * size;
    result.elements[offset_of(bounds, index)] = array.elements[offset_of(array.bounds, from)];
  });
  return result;
}

void put_piece(Array& whole, const Array& piece, int dim, Index start) {
  for_each_below(piece.bounds, [&](const Key& index) {
    Key to = index;
    to[static_cast<std::size_t>(dim)] += start;
    whole.elements[offset_of(whole.bounds, to)] = piece.elements[offset_of(piece.bounds, index)];
  });
}

}  // namespace tdsl::ir::algebra
