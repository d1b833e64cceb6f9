#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/routines/algorithms/caller.h"
#include "runtime/routines/algorithms/site.h"

// What library routines record. Emitted programs call them (runtime/routines/calls.h); `tdslc explain` calls the same.
//
// A routine has two forms: on one rank, which receives its operands whole, and distributed. Caller::distributes
// chooses. Results of a form depend on sizes alone, not on ranks. Matrices are distributed in block columns of b =
// min(256, max(2, k / 8)) columns:
//
//     cholesky   C = cholesky(D), X C' = P, S -= X X'                          one panel of b x b on one rank per step
//     lu         (F, p, D) = panel of S[:, lo:hi], T = D^-1 S[p[lo:hi], hi:], S -= M T     rows never move: p says
//     which;
//                M is F left of the diagonal; L and U stay in S
//     solve      lu of [A b], whose last columns y become L^-1 P b; then x = D^-1 y[p[lo:hi]], y -= S[:, lo:hi] x
//     backwards cumsum     sums of up to 64 blocks of the line, sums of the blocks before each, running sums of the
//     blocks topk       of a vector: the k largest of up to 64 blocks each, and the k largest of these qr         of m
//     >= 2 n: blocks of rows by themselves, their R stacked (Benson, Gleich and Demmel 2013); Q directly, from
//                each block's, or indirectly as A R^-1 with one refinement, which is cheaper for many rows
//
// All products are contractions over all ranks, added to S in place. The memory is that of one distributed copy and a
// few panels: an operation may receive one block column ahead of its time. What is not finite may spread to rows of U
// above it.

namespace tdsl::rt::routines {

/// As ir::Routine::Kind.
enum class Routine : std::uint8_t {
  kCumsum,
  kSort,
  kArgsort,
  kTopk,
  kSolve,
  kCholesky,
  kLu,
  kQr,
  kSvd,
  kEigh,
  kInv,
  kDet,
  kLstsq
};
[[nodiscard]] std::string_view name_of(Routine routine);

/// How many recording places, and branches, are a call's own.
[[nodiscard]] int places_of(Routine routine);
[[nodiscard]] int branches_of(Routine routine);

/// One of a routine's results, and its name for people (may be empty).
struct Result {
  std::string name;
  bool wanted = true;
  TensorHandle tensor = {};
};

struct Call {
  Routine routine = Routine::kCholesky;
  /// Released after their last use: the caller's own names of them may be the last ones.
  std::vector<TensorHandle> operands;
  std::vector<Result> results;
  Site site;
  Index axis = 0;   ///< of routines along lines
  Index count = 0;  ///< topk: how many
};

/// Records the call's operations and fills its results that are wanted. Throws RunError.
void record_routine(Caller& caller, Call& call);

}  // namespace tdsl::rt::routines
