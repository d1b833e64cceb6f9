#pragma once

#include <optional>
#include <string_view>

#include "runtime/plan/op_builder.h"
#include "runtime/record/control.h"
#include "runtime/record/known.h"
#include "runtime/record/recorder.h"
#include "runtime/routines/algorithms/kernel_call.h"

namespace tdsl::rt::routines {

/// The call site of a routine. Recording places of the routine are numbered from `first`, its data-dependent branches
/// from `branch`; the call reserves all these numbers.
struct Site {
  Site(int first_place, int its_line, record::Known sizes = record::Known::kStart, int first_branch = 0)
      : first(first_place), line(its_line), known(sizes), branch(first_branch) {}

  int first;
  int line;
  record::Known known;  ///< when the operands' sizes are known
  int branch;
};

using record::TensorHandle;

/// The program that calls a routine: its recorder, its parameters, and its knowledge of the run. Either an executable's
/// session, or the interpreter of `tdslc explain`.
class Caller {
 public:
  Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  virtual ~Caller() = default;

  /// Throws RunError if the result exceeds the maximum size of a tensor.
  [[nodiscard]] virtual TensorHandle record(plan::OpBuilder& op, ElementType type, const KernelCall& kernel) = 0;
  [[nodiscard]] virtual record::Control& control() = 0;
  /// The value of a scalar; empty if it is not known before the program runs.
  [[nodiscard]] virtual std::optional<double> read(const TensorHandle& scalar, record::Place place) = 0;

  /// Whether a routine with `bytes` of operands runs in its distributed variant.
  [[nodiscard]] virtual bool distributes(Index bytes) const = 0;
  /// Whether a tall QR is first tried as Q = A R^-1.
  [[nodiscard]] virtual bool indirect_qr(Index rows, Index columns, Index blocks) const = 0;
  /// Called if one rank receives `bytes` of an operand; warns if that is much.
  virtual void gathers(std::string_view routine, std::string_view operand, Index bytes, int line) = 0;
};

}  // namespace tdsl::rt::routines
