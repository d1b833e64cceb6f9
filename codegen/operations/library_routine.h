#pragma once

#include "ir/graph/graph.h"
#include "runtime/routines/algorithms/routine.h"

namespace tdsl::codegen {

/// The runtime's routine for a kind of ir::Routine. Not for user functions (`kForeign`).
[[nodiscard]] inline rt::routines::Routine library_routine(ir::Routine::Kind kind) {
  using Kind = ir::Routine::Kind;
  using rt::routines::Routine;
  switch (kind) {
    case Kind::kCumsum: return Routine::kCumsum;
    case Kind::kCumprod: return Routine::kCumprod;
    case Kind::kCummax: return Routine::kCummax;
    case Kind::kCummin: return Routine::kCummin;
    case Kind::kSort: return Routine::kSort;
    case Kind::kArgsort: return Routine::kArgsort;
    case Kind::kTopk: return Routine::kTopk;
    case Kind::kFilter: return Routine::kFilter;
    case Kind::kFft: return Routine::kFft;
    case Kind::kIfft: return Routine::kIfft;
    case Kind::kRfft: return Routine::kRfft;
    case Kind::kIrfft: return Routine::kIrfft;
    case Kind::kSolve: return Routine::kSolve;
    case Kind::kCholesky: return Routine::kCholesky;
    case Kind::kLu: return Routine::kLu;
    case Kind::kQr: return Routine::kQr;
    case Kind::kSvd: return Routine::kSvd;
    case Kind::kEigh: return Routine::kEigh;
    case Kind::kEig: return Routine::kEig;
    case Kind::kInv: return Routine::kInv;
    case Kind::kDet: return Routine::kDet;
    case Kind::kLstsq: return Routine::kLstsq;
    case Kind::kForeign: break;  // lower_foreign
  }
  return Routine::kCumsum;
}

}  // namespace tdsl::codegen
