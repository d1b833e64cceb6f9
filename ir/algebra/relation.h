#pragma once

#include <optional>

#include "ir/algebra/kernel.h"
#include "ir/algebra/keys.h"
#include "ir/algebra/layout.h"

namespace tdsl::ir::algebra {

/// Several tuples with one key represent their aggregation by `by`: the result of a local aggregation if the tuples of
/// a group are on several sites.
struct Pieces {
  Kernel by;
  Index most = 1;  ///< the most pieces of one key, for any number of sites
  friend bool operator==(const Pieces& a, const Pieces& b) = default;
};

/// The type of a relation: its keys, the type of its blocks and, once sites are known, the places of its tuples. A
/// missing key below the frontier represents a zero block if `holes_are_zero`; otherwise its block is unknown (sigmoid
/// of a zero block is not zero) and no operator may rely on it.
struct RelationType {
  KeySet keys;
  BlockType block;
  bool holes_are_zero = true;    ///< always true if there are none
  std::optional<Layout> layout;  ///< nothing: a relation of the tensor relational algebra, without sites
  std::optional<Pieces> pieces;  ///< nothing: every key once (or once per copy)

  /// Floats of one copy; `most` pieces of every key count as that many tuples.
  [[nodiscard]] Index floats(Index most_pieces = 1) const { return keys.count() * most_pieces * floats_of(block); }
};

}  // namespace tdsl::ir::algebra
