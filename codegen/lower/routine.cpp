#include "codegen/lower/routine.h"

#include <fmt/format.h>

#include <set>

#include "codegen/operations/describe.h"
#include "codegen/operations/library_routine.h"
#include "runtime/plan/factorise.h"

namespace tdsl::codegen {

namespace {

using RoutineKind = ir::Routine::Kind;

class RoutineLowering {
 public:
  RoutineLowering(ProgramBuilder& builder, const ir::Node& node, const ir::Routine& routine)
      : builder_(builder), node_(node), kind_(routine.kind) {
    step_.kind = routine.kind;
    step_.axis = routine.axis;
    step_.solves = routine.solves;
    step_.scale = routine.scale;
    for (const ValueId v : routine.operands) step_.operands.push_back({builder.resolve(v)});
    for (const ValueId v : node.results) step_.results.push_back({builder.resolve(v)});
  }

  void run() {
    if (is_large() && !is_batch()) warn_of_gathering();
    if (kind_ == RoutineKind::kTopk || kind_ == RoutineKind::kFilter || kind_ == RoutineKind::kIrfft)
      step_.count = extents(step_.results[0].target)[static_cast<std::size_t>(step_.axis)];
    step_.sizes = sizes();
    step_.site = builder_.new_sites(rt::routines::places_of(library_routine(kind_)));
    builder_.add(node_.range, std::move(step_));
  }

 private:
  /// Batches of matrices are shared out.
  [[nodiscard]] bool is_batch() const {
    return !ir::is_line(kind_) && builder_.type(step_.operands[0].tensor).rank() > 2;
  }

  void warn_of_gathering() {
    switch (kind_) {
      case RoutineKind::kSolve:
        if (step_.solves != ir::Routine::SolveKind::kGeneral) warn("only the general form is distributed");
        return;
      case RoutineKind::kQr: return warn("only matrices with twice as many rows as columns are distributed");
      case RoutineKind::kSort:
      case RoutineKind::kArgsort:
        if (builder_.type(step_.operands[0].tensor).rank() == 1) warn("a vector is one line");
        return;
      case RoutineKind::kSvd:
      case RoutineKind::kEigh:
      case RoutineKind::kEig:
      case RoutineKind::kInv:
      case RoutineKind::kDet:
      case RoutineKind::kLstsq: return warn("it is not distributed");
      case RoutineKind::kCumsum:
      case RoutineKind::kCumprod:
      case RoutineKind::kCummax:
      case RoutineKind::kCummin:
      case RoutineKind::kTopk:
      case RoutineKind::kFilter:
      case RoutineKind::kFft:
      case RoutineKind::kIfft:
      case RoutineKind::kRfft:
      case RoutineKind::kIrfft:
      case RoutineKind::kCholesky:
      case RoutineKind::kLu:
      case RoutineKind::kForeign: return;
    }
  }

  void warn(const char* reason) {
    builder_.warn("gathered", node_.range,
                  fmt::format("`{}` runs on one rank, which receives all of `{}`: {}", name_of(kind_),
                              name_of(builder_.program(), step_.operands[0].tensor), reason));
  }

  [[nodiscard]] std::vector<Extent> extents(ValueId v) {
    std::vector<Extent> result;
    for (const Extent& e : builder_.type(v).shape) result.push_back(builder_.rewritten(e, node_.range));
    return result;
  }

  [[nodiscard]] std::vector<ValueId> sizes() const {
    std::set<ValueId> values;
    for (const RoutineStep::Operand& o : step_.operands) {
      for (const Extent& e : builder_.type(o.tensor).shape) {
        for (const ValueId v : e.values()) values.insert(builder_.resolve(v));
      }
    }
    return {values.begin(), values.end()};
  }

  /// True if the operands' total size is known at compile time and large. If it is unknown, the run may warn.
  [[nodiscard]] bool is_large() {
    Extent bytes;
    for (const RoutineStep::Operand& o : step_.operands) bytes = bytes + builder_.bytes_of(o.tensor, node_.range);
    const auto known = bytes.constant();
    return known && *known > plan::kGatheredBytes;
  }

  ProgramBuilder& builder_;
  const ir::Node& node_;
  RoutineKind kind_;
  RoutineStep step_;
};

}  // namespace

void lower_routine(ProgramBuilder& builder, const ir::Node& node, const ir::Routine& routine) {
  RoutineLowering(builder, node, routine).run();
}

}  // namespace tdsl::codegen
