#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/app/run/program_info.h"
#include "runtime/engine/engine.h"

namespace tdsl::rt {

/// Options of `tdslc build` that give every named value a kernel of its own.
inline constexpr const char* kSplitKernels = "--fusion none --disable-pass serial_loops";

/// Where a nan or an infinity has come up.
struct NumberFinding {
  plan::Index operation = 0;  ///< numbered as submitted, alike on all ranks
  plan::Index output = 0;     ///< of the operation's
  std::vector<plan::Index> at;
  double value = 0;
  int rank = 0, line = 0;
  std::string tensor;
  bool loaded = false;  ///< read from an input's file or a checkpoint

  /// Program order, then the order of the elements.
  [[nodiscard]] bool before(const NumberFinding& other) const;
  /// `inner`: lines of which its kernel computes values, too, in words; empty if there are none.
  [[nodiscard]] std::string text(const std::string& inner) const;
};

/// `lines 3-5, 8 and other.tdsl:2`; empty without any.
[[nodiscard]] std::string lines_text(const ProgramInfo& info, const std::vector<int>& places);

/// `--check=nan,inf`: looks at every block when it is complete, at what is read of an input that stays in its file when
/// it is read, and keeps the first finding in program order. An element is never reported because of an operand: the
/// operand's block was found before, with a lesser number. Safe to be called by several threads.
class NumberCheck final : public BlockWatch {
 public:
  NumberCheck(NumberKinds kinds, int rank) : kinds_(kinds), rank_(rank) {}

  void complete(plan::Index operation, const plan::Op& op, int output, const Operand& dense,
                const BlockPart& sized) override;
  /// The first finding of all ranks. All ranks call it at the same place of the program, when everything submitted is
  /// done.
  [[nodiscard]] std::optional<NumberFinding> first(Engine& engine, int ranks) const;

 private:
  void keep(NumberFinding finding);
  NumberKinds kinds_;
  int rank_;
  mutable std::mutex mutex_;
  std::optional<NumberFinding> least_;
};

}  // namespace tdsl::rt
