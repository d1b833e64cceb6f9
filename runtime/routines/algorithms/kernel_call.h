#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/types.h"

namespace tdsl::rt::routines {

using plan::Index;

/// Names of the kernels used by routines: `tdslc explain` records routines too, but has no kernels.
/// runtime/routines/kernels documents what each computes.
enum class KernelName : std::uint8_t {
  kContraction,  ///< the planner's own, no kernel needed
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
  kEig,
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
  // Line kernels.
  kScan,
  kBlockTotals,
  kTotalsBefore,
  kBlockScan,
  kSort,
  kArgsort,
  kTopkValues,
  kTopkPositions,
  // Line elements.
  kPaddedBlocks,
  kInOneRow,
  kOrigins,
  kPick,
  // Fourier transforms of lines: axis, FourierScale, length, and for kFft and kIfft 1 if the lines are real.
  kFft,
  kIfft,
  kRfft,
  kIrfft,
  // Steps of a distributed transform of a vector.
  kInRows,
  kFourierColumns,
  kByColumns,
  kPairsInRows,
  kSpectrum,
  kPairsOfSpectrum,
  kReals,
  // Places of a mask; kFilter: axis, elements per block.
  kBlockCounts,
  kCountsBefore,
  kTruesFirst,
  kPlaces,
  kFilter,
};

/// A kernel, its element type (that of its operands), and its numeric arguments. kSolve has a SolveKind.
struct KernelCall {
  KernelName name = KernelName::kContraction;
  ElementType type = ElementType::kF64;
  std::vector<Index> numbers = {};
  int batch = 0;  ///< leading dimensions of all operands that number the kernel's matrices
};

}  // namespace tdsl::rt::routines
