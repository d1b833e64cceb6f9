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

/// A value that a kernel holds.
struct KernelValue {
  std::string type, name;
  std::string value;  ///< the expression in program()
};

/// The kernel functions of an emitted program. Equal kernels share a function. A *function of one point* is a kernel
/// that is one expression per point (ShortKernel).
///
/// Functions are shared out to source files that are compiled at the same time. A kernel of another file than the
/// first, which has program(), is made by a function of that file: `make_g_3(rate)`.
class KernelFunctions {
 public:
  /// `first`: the weight of the first file's other code (see weight()).
  KernelFunctions(NameTable& table, SourceComment comment, std::size_t units, double first)
      : table_(table), comment_(std::move(comment)), units_(units) {
    units_.front().weight = first;
  }

  /// The kernel argument of an operation: a function with its captures, added to the file if it is new. `request.name`
  /// is the identifier from which the function's name is made.
  std::string add(KernelRequest request);
  /// Adds the function of a loop or a user's kernel, `name`. `kernel`: the kernel argument, which holds these values.
  /// Returns the argument to use.
  std::string add_task(const std::string& function, const std::string& name, const Needs& needs, ir::SourceRange place,
                       const std::string& kernel, const std::vector<KernelValue>& values);

  /// The functions of a file, by source line, for each line those of one point first.
  [[nodiscard]] std::string text(std::size_t unit) const;
  /// The functions of a file that make kernels; of the first: declarations of all others' ones.
  [[nodiscard]] std::string makers(std::size_t unit) const;
  /// An estimate of the time that the compiler takes, in units of 0.03 s.
  [[nodiscard]] double weight() const;
  [[nodiscard]] const Needs& needs() const { return needs_; }
  [[nodiscard]] const EmitCounts& counts() const { return counts_; }

 private:
  std::string add_point(const KernelRequest& request, const ShortKernel& point);
  [[nodiscard]] std::string argument(const std::string& function, const std::string& captures);
  /// The kernel, or a call of the function that makes it in the file of `function`.
  [[nodiscard]] std::string made(const std::string& function, const std::string& kernel,
                                 const std::vector<KernelValue>& values);
  [[nodiscard]] static std::vector<KernelValue> values_of(const KernelRequest& request,
                                                          const std::vector<ValueId>& captures);

  /// The functions of a source line: those of one point, and all others.
  struct SourceLine {
    std::string comment, points, functions;
  };
  struct Unit {
    double weight = 0;
    std::vector<SourceLine> lines;
    std::string makers, declared;
  };
  /// The lightest file, which gets a new function.
  std::size_t place_function(const std::string& function);
  void add_weight(std::size_t unit, int price, const std::string& level);
  SourceLine& line_of(std::size_t unit, ir::SourceRange place);

  NameTable& table_;
  SourceComment comment_;
  VersionBudget versions_;
  EqualFunctions known_;
  std::map<std::string, std::string> levels_;  ///< vector levels, by function or by call with a function of one point
  std::vector<Unit> units_;
  std::map<std::string, std::size_t> unit_of_;  ///< by function
  std::map<std::string, std::string> makers_;   ///< calls of functions that make kernels, by kernel
  Needs needs_;
  EmitCounts counts_;
};

}  // namespace tdsl::codegen
