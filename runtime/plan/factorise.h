#pragma once

#include <string>

#include "runtime/plan/space/index.h"

namespace tdsl::plan {

/// `--factorise`: the variant of a factorisation or solver to run. kIndirect: distributed, with tall QR as Q = A R^-1.
enum class Factorise : std::uint8_t { kAuto, kLocal, kDistributed, kIndirect };

/// Operands of up to this many bytes may be gathered on one rank.
inline constexpr Index kGatheredBytes = Index{1} << 20;

/// True if a routine with that many bytes of operands runs in its distributed variant.
[[nodiscard]] inline bool distributes(Factorise choice, Index ranks, Index bytes) {
  if (choice == Factorise::kAuto) return ranks > 1 && bytes > kGatheredBytes;
  return choice != Factorise::kLocal;
}

/// True if QR of rows x columns, whose R comes from `blocks` blocks, first tries its indirect variant. Direct QR shares
/// 8 rows columns^2 flops among the ranks; indirect QR shares 6, and one rank factors the blocks' R once more.
[[nodiscard]] inline bool indirect_qr(Factorise choice, Index ranks, Index rows, Index columns, Index blocks) {
  if (choice == Factorise::kAuto) return rows > 2 * ranks * blocks * columns;
  return choice == Factorise::kIndirect;
}

/// The warning `[gathered]` once sizes are known; codegen's GathersStep documents its texts.
[[nodiscard]] inline std::string gathered_text(const std::string& routine, const std::string& operand, Index bytes) {
  const std::string all = " all " + std::to_string((bytes + kGatheredBytes - 1) / kGatheredBytes) + " MiB of ";
  if (!routine.empty())
    return "`" + routine + "` runs on one rank, which receives" + all + "`" + operand + "` [gathered]";
  const std::string each = "each rank that computes here ";
  if (!operand.empty()) return each + "receives" + all + "`" + operand + "` [gathered]";
  return each + "holds" + all + "the result, or reads all points [gathered]";
}

}  // namespace tdsl::plan
