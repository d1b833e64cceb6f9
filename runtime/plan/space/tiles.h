#pragma once

#include <limits>
#include <vector>

#include "runtime/plan/op.h"
#include "runtime/plan/planner.h"

namespace tdsl::plan {

/// Number of tiles per dimension, given the number of coordinates it is spread over: each coordinate's share is a whole
/// number of tiles. `multiple[d]` (>= 1) must divide the result where the extent allows it.
struct TileRequest {
  std::vector<Index> shape;
  std::vector<Index> multiple;
  bool contraction = false;
  int threads = 1;
  Index spread = 1;  ///< ranks that share the tiles
  Index unit = 1;    ///< the edges of a large tile are multiples of this
  Index depth = 1;   ///< reduced points per element, if only the element's own task can do the reduction: a small tile
                     ///< with much work is worth a task
  std::vector<bool> uncut = {};     ///< dimensions that always stay whole; empty: none
  std::vector<Index> longest = {};  ///< longest edges of a product's tiles per dimension; empty: kContractionEdge
  std::vector<Index> thinnest =
      {};            ///< memory-bound work: smallest edges worth a task, per dimension; empty: other work
  double bytes = 0;  ///< operand bytes read per element of such work
  double flops = 0;  ///< and operations per element
  double seconds = std::numeric_limits<double>::infinity();  ///< of one thread per element; infinite: unknown
  std::vector<Index> extents =
      {};  ///< actual extents, if `shape` only determines granularity (cut_extents); empty: the shape
};

/// The tilings of a tensor (or of a task space's output): an annotation takes precedence, then --tile, then the
/// request. `edges` is the annotation (may be empty).
[[nodiscard]] std::vector<Tiling> choose_tiles(const TileRequest& request, const std::vector<Index>& edges,
                                               const PlanInputs& inputs);

/// Pieces of at least one grain (Machine::grain) that `seconds` of work give: 1 to kMostTiles.
[[nodiscard]] Index grains(double seconds, const Machine& machine);

/// Elements of the largest block if tensors are stored on disk or in files: a small part of the memory, which leaves a
/// choice of resident blocks. Otherwise kMapTileElements.
[[nodiscard]] Index moved_block(const PlanInputs& inputs);

/// The tiling of a reduce label of `extent`: --tile's first edge, else near-equal panels of at most `longest` elements,
/// with a multiple of `multiple` panels.
[[nodiscard]] Tiling choose_panels(Index extent, Index multiple, Index longest, const std::vector<Index>& tile);

/// The lcm of the micro-tile edges of a product's kernels: other tiles compute padding zeros at their ends. If several
/// ranks share a dimension, equal shares take precedence, and reproducible tiles depend on the shape alone.
[[nodiscard]] Index tile_unit(const PlanInputs& inputs, Index element_bytes);

inline constexpr Index kMostTiles = 1 << 20;     ///< of a dimension or label, unless an edge is given
inline constexpr Index kContractionEdge = 1024;  ///< longest edge of a product's tiles, unless the product is thin
inline constexpr Index kProductBlock =
    1 << 20;  ///< a longer edge makes no block of an operand or result larger than this many elements
inline constexpr Index kMapTileElements = 1 << 20;
inline constexpr Index kSmallOperand = 1 << 16;       ///< elements: an operation on this little may run on one rank
inline constexpr double kGatherWhole = 1 << 20;       ///< operands of a gather below this many bytes are fetched whole
inline constexpr Index kSmallTileElements = 1 << 14;  ///< smaller tiles are not worth a task
inline constexpr Index kSmallTilePoints = 1 << 22;    ///< … unless at least this many points are computed for it
inline constexpr Index kPanelPoints = 1 << 20;        ///< a panel with fewer points is not cut for overlap
inline constexpr Index kThinTile = 64;                ///< … and its longest edge is at least this
inline constexpr double kTaskBytes =
    1 << 18;  ///< a memory-bound task is worth its overhead if it reads this many bytes
inline constexpr double kTaskFlops = 1 << 18;  ///< … or computes this many flops
inline constexpr double kStreamPoints =
    32;  ///< points per element of operands and result: below this, work is memory-bound
inline constexpr double kShareOfParts = 0.25;  ///< share of a memory limit that threads' partial results may use
inline constexpr double kFlopsOfPart = 32;  ///< flops per element that justify more than one partial result per thread
inline constexpr Index kFewRows = 8;        ///< rows of a streamed operand that are worth a task
inline constexpr Index kShortRow = 512;     ///< … with at least this many elements of every row

/// Effective extents that determine tile granularity: for a sized tensor, scaled by its stored elements.
[[nodiscard]] std::vector<Index> cut_extents(const TensorDesc& tensor);

/// The tensor as a single tile.
[[nodiscard]] std::vector<Tiling> whole_tiles(const TensorDesc& tensor);

}  // namespace tdsl::plan
