#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "codegen/print/names.h"
#include "codegen/print/needs.h"
#include "ir/graph/foreign.h"
#include "ir/graph/procedure.h"

namespace tdsl::codegen {

/// A comment with a source line: `// p.tdsl:3: let y = f(x);`
using SourceComment = std::function<std::string(ir::SourceRange)>;

/// The functions of an emitted file's namespace `fn`: procedures, and wrappers of user functions (of C++ headers). Each
/// is emitted at its first use.
class CalledFunctions {
 public:
  explicit CalledFunctions(SourceComment comment) : comment_(std::move(comment)) {}

  /// The name of a procedure's function. Records that the current code may call the user functions behind it.
  std::string procedure(const ir::ProcedureRef& p);
  /// The name of the wrapper of a user's kernel.
  std::string foreign_kernel(const ir::Foreign& f, ir::SourceRange range);

  /// Begins a piece of code, for which no calls of user functions are recorded yet.
  void start_code() { entered_.clear(); }
  /// rt::foreign_kernel({place(7), "the C++ function `gelu` of k.hpp"}, kernel) if the code since `start_code` may
  /// call user functions, otherwise `callee`.
  [[nodiscard]] std::string reported(std::string_view how, const std::string& callee, ir::SourceRange range);
  /// Records that the current code may call this user function.
  void enter(const ir::Foreign& f);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Definitions of the wrappers, which follow the user's headers.
  [[nodiscard]] const std::string& foreign_calls() const { return foreign_calls_; }
  [[nodiscard]] const std::set<std::string>& headers() const { return headers_; }
  [[nodiscard]] const Needs& needs() const { return needs_; }

 private:
  std::string own_function(const ir::Procedure& p);
  std::string foreign_function(const ir::Foreign& f, ir::SourceRange range);

  struct Function {
    std::string name;
    std::set<std::string> enters;  ///< titles of the user functions that it may call
  };
  SourceComment comment_;
  NameTable table_;
  std::map<std::string, Function> procedures_;          ///< by text of the procedure
  std::map<std::string, std::string> foreign_kernels_;  ///< names of wrappers of the user's kernels, by their titles
  std::set<std::string> entered_;                       ///< user functions that the current code may call
  std::string text_;
  std::string foreign_calls_;
  std::set<std::string> headers_;
  Needs needs_;
};

}  // namespace tdsl::codegen
