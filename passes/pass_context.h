#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/source.h"

namespace tdsl::passes {

enum class Decision : std::uint8_t { kApplied, kRefused };

/// A rewrite that a pass applied, or refused with a reason; printed by `explain`.
struct Remark {
  std::string pass;
  ir::SourceRange range;
  Decision decision = Decision::kApplied;
  std::string reason;
};

/// A performance warning for the user. `id` is the bracketed name, e.g. "sequential-loop".
struct PassWarning {
  std::string id;
  ir::SourceRange range;
  std::string message;
};

/// A construct that no pass can compile. `note` explains it at `note_range`.
struct PassFailure {
  ir::SourceRange range;
  std::string message;
  ir::SourceRange note_range;
  std::string note;
};

/// Which operators share loops (`--fusion`).
enum class FusionPolicy : std::uint8_t {
  kCost,          ///< where the predicted cost is lower
  kAll,           ///< wherever legal, even if values are computed more than once
  kNoRedundancy,  ///< wherever legal without computing a value more than once
  kNone,
};

struct PassOptions {
  /// The largest number of nodes an expression may grow to by substitution.
  int expression_limit = 256;
  /// True if loops may run as one task (`serial_loops`), so that keeping the task variant pays off.
  bool task_forms = true;
  FusionPolicy fusion = FusionPolicy::kCost;
  /// Elementary operations on sets of points (passes/schedule/isl.h) for a program: 0.1 to 0.2 seconds.
  std::uint64_t set_operations = 10'000'000;
};

/// State shared by passes: options in; remarks, warnings and failures out.
class PassContext {
 public:
  explicit PassContext(PassOptions options = {}) : options_(options) {}

  [[nodiscard]] const PassOptions& options() const { return options_; }
  PassOptions& options() { return options_; }
  /// Sets the pass name under which subsequent remarks are filed; called by the pipeline.
  void enter(std::string pass) { pass_ = std::move(pass); }
  /// Records a rewrite. Drops an earlier refusal of `fusion` at the same range, which this rewrite supersedes.
  void applied(ir::SourceRange range, std::string reason) {
    std::erase_if(remarks_, [&](const Remark& r) {
      return r.decision == Decision::kRefused && r.pass == "fusion" && pass_ != r.pass && is_same(r.range, range);
    });
    remarks_.push_back({pass_, range, Decision::kApplied, std::move(reason)});
  }
  void refused(ir::SourceRange range, std::string reason) {
    remarks_.push_back({pass_, range, Decision::kRefused, std::move(reason)});
  }
  void warn(std::string id, ir::SourceRange range, std::string message) {
    warnings_.push_back({std::move(id), range, std::move(message)});
  }
  /// Withdraws the warnings `id` on lines of the range: the code runs in a way that the warning pass could not foresee.
  void withdraw(std::string_view id, const ir::SourceRange& range) {
    std::erase_if(warnings_, [&](const PassWarning& w) {
      return w.id == id && w.range.file == range.file && range.line <= w.range.line && w.range.line <= range.end_line;
    });
  }
  void not_supported(ir::SourceRange range, std::string message, ir::SourceRange note_range, std::string note) {
    failures_.push_back({range, std::move(message), note_range, std::move(note)});
  }
  [[nodiscard]] const std::vector<Remark>& remarks() const { return remarks_; }
  [[nodiscard]] const std::vector<PassWarning>& warnings() const { return warnings_; }
  [[nodiscard]] const std::vector<PassFailure>& failures() const { return failures_; }
  /// True if a pass failed; its result must not be used.
  [[nodiscard]] bool failed() const { return !failures_.empty(); }
  /// Returns `stem` with a number that no earlier call returned: `r_1`, `r_2`.
  [[nodiscard]] std::string fresh_name(const std::string& stem) { return stem + "_" + std::to_string(++fresh_); }

 private:
  [[nodiscard]] static bool is_same(const ir::SourceRange& a, const ir::SourceRange& b) {
    return a.file == b.file && a.line == b.line && a.column == b.column && a.end_line == b.end_line &&
           a.end_column == b.end_column;
  }

  PassOptions options_;
  std::string pass_;
  std::vector<Remark> remarks_;
  std::vector<PassWarning> warnings_;
  std::vector<PassFailure> failures_;
  int fresh_ = 0;
};

}  // namespace tdsl::passes
