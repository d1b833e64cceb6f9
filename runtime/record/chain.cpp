#include "runtime/record/chain.h"

#include <limits>
#include <utility>

#include "runtime/check.h"

namespace tdsl::record {

namespace {

constexpr std::size_t kLongestName = 48;

/// Records the products of one chain.
class ChainRecording {
 public:
  ChainRecording(const ProductChain& chain, const std::function<TensorHandle(plan::OpBuilder&)>& contraction)
      : chain_(chain), contraction_(contraction), splits_(chain_splits(chain.sizes)) {}

  TensorHandle run() { return product(0, chain_.factors.size() - 1).tensor; }

 private:
  /// The product of some factors.
  struct Part {
    TensorHandle tensor;
    bool transposed = false;
    std::string text;
  };

  Part part(std::size_t first, std::size_t last) {
    if (first != last) return product(first, last);
    const ChainFactor& f = chain_.factors[first];
    return {*f.tensor, f.transposed, f.tensor->state().desc.name + (f.transposed ? "'" : "")};
  }

  Part product(std::size_t first, std::size_t last) {
    const std::size_t n = chain_.factors.size();
    const std::size_t split = splits_[first * n + last];
    const Part left = part(first, split);
    const Part right = part(split + 1, last);
    const bool whole = first == 0 && last + 1 == n;
    const bool vector = right.tensor.state().desc.shape.size() == 1;
    std::string text = "(" + left.text + " @ " + right.text + ")";
    std::string name = text.size() <= kLongestName + 2 ? text.substr(1, text.size() - 2) : "temporary";
    if (whole) name = chain_.name;
    plan::OpBuilder op(plan::OpClass::kContraction, name, chain_.place.site + static_cast<int>(split),
                       chain_.place.line);
    op.out("i", chain_.sizes[first]);
    if (!vector) op.out("j", chain_.sizes[last + 1]);
    op.reduce("k", chain_.sizes[split + 1]);
    const int inner = vector ? 1 : 2;
    read(op, left, {0, inner});
    vector ? read(op, right, {inner}) : read(op, right, {inner, 1});
    op.combine(plan::Combine::kSum).flops(2);
    if (whole && !chain_.tile.empty()) op.tile(chain_.tile);
    return {contraction_(op), false, std::move(text)};
  }

  static void read(plan::OpBuilder& op, const Part& part, std::vector<int> labels) {
    if (part.transposed) std::swap(labels.front(), labels.back());
    std::vector<plan::DimAccess> dims;
    for (const int label : labels) dims.push_back(plan::at(label));
    op.read(part.tensor.id(), std::move(dims));
  }

  const ProductChain& chain_;
  const std::function<TensorHandle(plan::OpBuilder&)>& contraction_;
  std::vector<std::size_t> splits_;
};

}  // namespace

std::vector<std::size_t> chain_splits(std::span<const Index> sizes) {
  const std::size_t n = sizes.size() - 1;
  std::vector<double> cost(n * n, 0);
  std::vector<std::size_t> split(n * n, 0);
  const auto size = [&](std::size_t k) { return static_cast<double>(sizes[k]); };
  for (std::size_t length = 2; length <= n; ++length) {
    for (std::size_t first = 0; first + length <= n; ++first) {
      const std::size_t last = first + length - 1;
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t k = last; k-- > first;) {
        const double here = cost[first * n + k] + cost[(k + 1) * n + last] + size(first) * size(k + 1) * size(last + 1);
        if (!(here < best)) continue;
        best = here;
        split[first * n + last] = k;
      }
      cost[first * n + last] = best;
    }
  }
  return split;
}

TensorHandle record_chain(const ProductChain& chain, const std::function<TensorHandle(plan::OpBuilder&)>& contraction) {
  TDSL_CHECK(chain.factors.size() >= 2 && chain.sizes.size() == chain.factors.size() + 1,
             "a chain has one size more than factors");
  return ChainRecording(chain, contraction).run();
}

}  // namespace tdsl::record
