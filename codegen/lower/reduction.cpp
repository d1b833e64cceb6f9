#include "codegen/lower/compute_lowering.h"

namespace tdsl::codegen {

using ir::Monoid;

plan::Combine combine_of(const Monoid& m) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return plan::Combine::kSum;
    case Monoid::Kind::kProd: return plan::Combine::kProd;
    case Monoid::Kind::kMin: return plan::Combine::kMin;
    case Monoid::Kind::kMax: return plan::Combine::kMax;
    case Monoid::Kind::kAny: return plan::Combine::kAny;
    case Monoid::Kind::kAll: return plan::Combine::kAll;
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax:
    case Monoid::Kind::kUser: return plan::Combine::kNone;
  }
  return plan::Combine::kNone;
}

}  // namespace tdsl::codegen
