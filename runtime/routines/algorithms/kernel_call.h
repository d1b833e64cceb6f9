#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/types.h"

namespace tdsl::rt::routines {

using plan::Index;

/// Kernels that routines need, by name: `tdslc explain` records routines too, but has no kernels. What each computes is
/// said where it is (runtime/routines/kernels).
enum class KernelName : std::uint8_t {
  kContraction,  ///< none of its own: the planner's
  // Matrices on one rank.
  kCholesky,
  kInverse,
  kDeterminant,
  kSolve,
  kLeastSquares,
  kLu,
  kQr,
  kSvd,
  kEigh,
  // Steps of distributed factorisations.
  kTriangularRows,
  kForwardColumns,
  kBackwardColumns,
  kLuPanel,
  kBlockR,
  kBlockQ,
  // Elements of matrices.
  kMove,
  kNegate,
  kZeros,
  kZerosAbove,
  kUnitLower,
  kUpper,
  kBeside,
  kFirstColumn,
  kRow,
  kCount,
  kCopyRows,
  kRowNumbers,
  kPickRows,
  kNegativeFactors,
  kLast,
  kLastTransposed,
  kDistanceFromUnit,
  kProductOfLast,
  // Along lines.
  kCumsum,
  kBlockSums,
  kExclusiveSums,
  kBlockCumsum,
  kSort,
  kArgsort,
  kTopkValues,
  kTopkPositions,
  // Elements of lines.
  kPaddedBlocks,
  kInOneRow,
  kOrigins,
  kPick,
};

/// A kernel, the element type it is made for (of its operands), and its numbers.
struct KernelCall {
  KernelName name = KernelName::kContraction;
  ElementType type = ElementType::kF64;
  std::vector<Index> numbers = {};
};

}  // namespace tdsl::rt::routines
