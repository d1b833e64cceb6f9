#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/routines/algorithms/caller.h"
#include "runtime/routines/algorithms/solve_kind.h"

// Recording of library routines, for emitted programs (runtime/routines/calls.h) and for `tdslc explain`.
//
// A routine has two variants: on one rank, which receives whole operands, and distributed. Caller::distributes selects
// one. Results of a variant depend on sizes only, not on the number of ranks. Matrices are distributed by block columns
// of width b = min(256, max(2, k / 8)):
//
//     cholesky   C = cholesky(D), X C' = P, S -= X X'; each step has one b x b panel on one rank
//     lu         (F, p, D) = panel of S[:, lo:hi], T = D^-1 S[p[lo:hi], hi:], S -= M T; rows are not moved but permuted
//                by p; M is F left of the diagonal; L and U remain in S
//     solve      lu of [A b], whose last columns y become L^-1 P b; then backwards x = D^-1 y[p[lo:hi]],
//                y -= S[:, lo:hi] x
//     cumsum     (cumprod, cummax, cummin alike) totals of up to 64 blocks per line, those before each block, running
//                results within blocks
//     topk       of a vector: the k largest of each of up to 64 blocks, and the k largest of these; of a vector of
//     bools,
//                always: the true elements of up to 1024 blocks are counted, and each tile of the result reads the
//                blocks that have its elements
//     filter     the same, but the result has the slices of another tensor at these places
//     fft, ifft  (rfft, irfft of pairs) of a vector: as a matrix of about sqrt(n) rows, its columns, then its rows;
//     three
//                exchanges
//     batches    (leading dimensions of operands of more than two) on any number of ranks: one operation whose blocks
//     are
//                cut along the batch and have whole matrices, which one kernel after the other or vectors of
//                eight compute (runtime/routines/batched)
//     qr         if m >= 2 n: QR of row blocks, then of their stacked R (Benson, Gleich and Demmel 2013); Q directly,
//                from each block's, or indirectly as A R^-1 with one refinement, which is cheaper for many rows
//
// All products are contractions over all ranks, accumulated into S in place. Memory: one distributed copy and a few
// panels, because an operation may receive at most one block column ahead of time. Non-finite elements may propagate to
// rows of U above them.

namespace tdsl::rt::routines {

/// Mirrors ir::Routine::Kind.
enum class Routine : std::uint8_t {
  kCumsum,
  kCumprod,
  kCummax,
  kCummin,
  kSort,
  kArgsort,
  kTopk,
  kFilter,
  kFft,
  kIfft,
  kRfft,
  kIrfft,
  kSolve,
  kCholesky,
  kLu,
  kQr,
  kSvd,
  kEigh,
  kEig,
  kInv,
  kDet,
  kLstsq
};
[[nodiscard]] std::string_view name_of(Routine routine);
/// cumsum and the other running reductions.
[[nodiscard]] constexpr bool is_scan(Routine routine) { return routine <= Routine::kCummin; }
/// fft, ifft, rfft, irfft.
[[nodiscard]] constexpr bool is_fourier(Routine routine) {
  return Routine::kFft <= routine && routine <= Routine::kIrfft;
}
/// Scans, sorts, topk, filter and Fourier transforms, which work along one axis.
[[nodiscard]] constexpr bool is_line(Routine routine) { return routine <= Routine::kIrfft; }
/// The number that tells kernels which running reduction it is.
[[nodiscard]] constexpr Index scan_number(Routine routine) { return static_cast<Index>(routine); }

/// The factor of a Fourier transform of length n: 1, 1 / sqrt(n) or 1 / n. Mirrors ir::Routine::Scale.
enum class FourierScale : std::uint8_t { kNone, kRoot, kWhole };

/// Number of recording places, and of branches, reserved for a call.
[[nodiscard]] int places_of(Routine routine);
[[nodiscard]] int branches_of(Routine routine);

/// A result of a routine, with its display name (may be empty).
struct Result {
  std::string name;
  bool wanted = true;
  TensorHandle tensor = {};
};

struct Call {
  Routine routine = Routine::kCholesky;
  /// Released after their last use; these may be the last references to them.
  std::vector<TensorHandle> operands;
  std::vector<Result> results;
  Site site;
  Index axis = 0;   ///< for routines along lines
  Index count = 0;  ///< topk, filter: number of elements; irfft: extent of the result's axis
  SolveKind solves = SolveKind::kGeneral;
  FourierScale scale = FourierScale::kNone;
};

/// Records the call's operations and fills in the requested results. Throws RunError.
void record_routine(Caller& caller, Call& call);

}  // namespace tdsl::rt::routines
