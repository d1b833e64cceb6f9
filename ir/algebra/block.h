#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/algebra/kernel.h"
#include "ir/algebra/keys.h"

namespace tdsl::ir::algebra {

/// A dense array in row-major order.
struct Array {
  Bounds bounds;
  std::vector<double> elements;
  friend bool operator==(const Array& a, const Array& b) = default;
};
using Block = std::vector<Array>;
[[nodiscard]] Block zero_block(const BlockType& type);

/// Implementations of kernels `call("name", ..)`.
using Calls = std::map<std::string, std::function<Block(const Block&)>>;

/// The tuples on one site; in a whole relation, every key occurs once.
using Tuples = std::multimap<Key, Block>;

/// The whole arrays; absent blocks are zero. Throws AlgebraError for blocks with a different number of dimensions.
[[nodiscard]] Block whole_of(const Tuples& tuples, const Key& frontier, const BlockType& block);
/// The arrays cut into `frontier` equal blocks. Throws AlgebraError unless extents are multiples of it.
[[nodiscard]] Tuples tuples_of(const Block& whole, const Key& frontier);

}  // namespace tdsl::ir::algebra
