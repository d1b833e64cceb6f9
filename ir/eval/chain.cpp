#include "ir/eval/routine.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/eval/accumulator.h"
#include "ir/eval/bounds.h"
#include "ir/eval/complex_bounds.h"

namespace tdsl::ir::eval {

namespace {

/// A factor, for any order of its tensor's dimensions.
class Factor {
 public:
  Factor(const Array& array, bool transposed) : array_(array) {
    const std::int64_t width = array.shape.size() == 2 ? array.shape[1] : 1;
    row_stride_ = transposed ? 1 : width;
    column_stride_ = transposed ? width : 1;
  }

  [[nodiscard]] Real at(std::int64_t row, std::int64_t column) const {
    const auto k = static_cast<std::size_t>(row * row_stride_ + column * column_stride_);
    return real_element(array_, k);
  }

 private:
  const Array& array_;
  std::int64_t row_stride_;
  std::int64_t column_stride_;
};

Array product(Scalar type, const Factor& left, const Factor& right, std::int64_t rows, std::int64_t inner,
              std::int64_t columns) {
  Array result = zeros(type, {rows, columns});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      RealAccumulator sum(Monoid::Kind::kSum, type, nullptr);
      for (std::int64_t k = 0; k < inner; ++k) sum.add(multiply(type, left.at(i, k), right.at(k, j)));
      if (sum.empty()) continue;
      set_element(result, static_cast<std::size_t>(i * columns + j), {sum.result(), {}});
    }
  }
  return result;
}

}  // namespace

std::shared_ptr<Array> evaluate_chain(Environment& environment, const Node& node, const Chain& chain) {
  const Scalar type = environment.program().type(node.results[0]).scalar;
  std::vector<std::int64_t> sizes;
  for (const Extent& e : chain.sizes) sizes.push_back(std::max<std::int64_t>(0, environment.extent(e, node.range)));
  const auto factor = [&](std::size_t k) {
    const Array& array = environment.get(chain.factors[k].tensor);
    const std::size_t row = chain.factors[k].transposed ? 1 : 0;
    const bool fits = sizes[k] <= array.shape[row] && (array.shape.size() == 1 || sizes[k + 1] <= array.shape[1 - row]);
    if (!fits) stop(node.range, "a factor of the product has fewer elements than the product reads [out-of-bounds]");
    return Factor(array, chain.factors[k].transposed);
  };
  Array so_far = product(type, factor(0), factor(1), sizes[0], sizes[1], sizes[2]);
  for (std::size_t k = 2; k < chain.factors.size(); ++k)
    so_far = product(type, Factor(so_far, false), factor(k), sizes[0], sizes[k], sizes[k + 1]);
  if (environment.program().type(node.results[0]).rank() == 1) so_far.shape.pop_back();
  return std::make_shared<Array>(std::move(so_far));
}

}  // namespace tdsl::ir::eval
