#pragma once

#include <vector>

#include "runtime/plan/op.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// How many tiles each dimension is cut into, given how many coordinates it is spread over: each coordinate's share is
/// a whole number of tiles. `multiple[d]` (>= 1) must divide the result where the extent allows it.
struct TileRequest {
  std::vector<Index> shape;
  std::vector<Index> multiple;
  bool contraction = false;
  int threads = 1;
  Index spread = 1;  ///< ranks that share the tiles
  Index unit = 1;    ///< a large tile's edges are whole numbers of it
  Index depth =
      1;  ///< points reduced for an element that only its own task can reduce: much work makes a small tile worth one
  std::vector<bool> uncut = {};     ///< dimensions that stay whole, whatever the request says; empty: none
  std::vector<Index> longest = {};  ///< longest edges of a product's tiles per dimension; empty: kContractionEdge
  std::vector<Index> thinnest =
      {};            ///< of work bound by memory: edges that are still worth a task per dimension; empty: other work
  double bytes = 0;  ///< of operands that are read for an element of such work
  double flops = 0;  ///< and operations
  std::vector<Index> extents =
      {};  ///< of what is cut, where `shape` says only how fine (cut_extents); empty: the shape
};

/// The tilings of a tensor (or of a task space's output): an annotation wins, then --tile, then the request. `edges` is
/// the annotation (may be empty).
[[nodiscard]] std::vector<Tiling> choose_tiles(const TileRequest& request, const std::vector<Index>& edges,
                                               const PlanInputs& inputs);

/// Elements of the largest block where tensors have homes on disk or in files: a small part of the memory, so that
/// there is a choice of what is there. Else kMapTileElements.
[[nodiscard]] Index moved_block(const PlanInputs& inputs);

/// The tiling of a reduce label of `extent`: --tile's first edge, else near-equal panels of at most `longest` elements,
/// whose number is a multiple of `multiple`.
[[nodiscard]] Tiling choose_panels(Index extent, Index multiple, Index longest, const std::vector<Index>& tile);

/// The lcm of the edges of the micro-tile of a product's kernels: a tile that is not made of whole ones computes zeros
/// at its ends. Shares of several ranks are as equal as can be instead, and reproducible tiles depend on the shape
/// alone.
[[nodiscard]] Index tile_unit(const PlanInputs& inputs, Index element_bytes);

inline constexpr Index kMostTiles = 1 << 20;     ///< of a dimension or label, unless an edge is given
inline constexpr Index kContractionEdge = 1024;  ///< longest edge of a product's tiles, unless the product is thin
inline constexpr Index kProductBlock =
    1 << 20;  ///< a longer edge makes no block of an operand or result larger than this many elements
inline constexpr Index kMapTileElements = 1 << 20;
inline constexpr Index kSmallOperand = 1 << 16;       ///< elements: operations on so little may go to one rank
inline constexpr double kGatherWhole = 1 << 20;       ///< operands of a gather below these bytes are fetched whole
inline constexpr Index kSmallTileElements = 1 << 14;  ///< smaller tiles are not worth a task
inline constexpr Index kSmallTilePoints = 1 << 22;    ///< … unless this many points are computed for it
inline constexpr Index kPanelPoints = 1 << 20;        ///< a panel with fewer points is not cut for the sake of overlap
inline constexpr Index kThinTile = 64;                ///< … and its longest edge is no shorter
inline constexpr double kTaskBytes = 1 << 18;         ///< a task bound by memory is worth its start if it reads so much
inline constexpr double kTaskFlops = 1 << 18;         ///< … or computes so much
inline constexpr double kStreamPoints =
    32;  ///< points per element of operands and result: with fewer, memory bounds the work
inline constexpr double kShareOfParts = 0.25;  ///< of a memory limit may be partial results for threads
inline constexpr double kFlopsOfPart =
    32;  ///< for each of its elements are worth a partial result beyond one for every thread
inline constexpr Index kFewRows = 8;     ///< of a streamed operand are worth a task
inline constexpr Index kShortRow = 512;  ///< … and so much of every row

/// Extents by which to decide how fine to cut a tensor: those of a sized one count as much as is stored along them.
[[nodiscard]] std::vector<Index> cut_extents(const TensorDesc& tensor);

/// The tensor as one tile.
[[nodiscard]] std::vector<Tiling> whole_tiles(const TensorDesc& tensor);

}  // namespace tdsl::plan
