#pragma once

#include <optional>

#include "ir/algebra/kernel.h"
#include "ir/algebra/keys.h"
#include "ir/algebra/layout.h"

namespace tdsl::ir::algebra {

/// Several tuples of one key stand for their aggregation by `by`: what a local aggregation leaves where the tuples of a
/// group lie on several sites.
struct Pieces {
  Kernel by;
  Index most = 1;  ///< the most pieces of one key, however many sites there are
  friend bool operator==(const Pieces& a, const Pieces& b) = default;
};

/// The type of a relation: which keys it holds, of what type its blocks are and, once sites are known, where tuples
/// lie. A key below the frontier that is not there stands for a zero block as long as `holes_are_zero`; else its block
/// is unknown (sigmoid of a zero block is no zero block) and no operator may rely on it.
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
