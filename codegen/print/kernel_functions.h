#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/print/called_functions.h"
#include "codegen/print/emit.h"
#include "codegen/print/emit_kernel.h"
#include "codegen/print/equal_functions.h"
#include "codegen/print/names.h"
#include "codegen/print/needs.h"
#include "codegen/print/versions.h"

namespace tdsl::codegen {

/// The kernel functions of an emitted file. Equal kernels share a function. A *function of one point* is a kernel that
/// is one expression per point (ShortKernel).
class KernelFunctions {
 public:
  KernelFunctions(NameTable& table, SourceComment comment) : table_(table), comment_(std::move(comment)) {}

  /// The kernel argument of an operation: a function with its captures, added to the file if it is new. `request.name`
  /// is the identifier from which the function's name is made.
  std::string add(KernelRequest request);
  /// Adds the function of a loop or a user's kernel.
  void add_task(const std::string& function, const Needs& needs, ir::SourceRange place);

  /// The text of all functions, by source line, for each line those of one point first.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const Needs& needs() const { return needs_; }
  [[nodiscard]] const EmitCounts& counts() const { return counts_; }

 private:
  std::string add_point(const KernelRequest& request, const ShortKernel& point);
  [[nodiscard]] std::string argument(const std::string& function, const std::string& captures);

  /// The functions of a source line: those of one point, and all others.
  struct SourceLine {
    std::string comment, points, functions;
  };
  SourceLine& line_of(ir::SourceRange place);

  NameTable& table_;
  SourceComment comment_;
  VersionBudget versions_;
  EqualFunctions known_;
  std::map<std::string, std::string> levels_;  ///< vector levels, by function or by call with a function of one point
  std::vector<SourceLine> lines_;
  Needs needs_;
  EmitCounts counts_;
};

}  // namespace tdsl::codegen
