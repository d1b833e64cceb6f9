#pragma once

#include <memory>
#include <vector>

#include "frontend/lower/lowerer.h"

// Lambdas that mention index variables.
namespace tdsl::frontend {

/// A lambda of a call, and the names around it that denote expressions of index variables.
struct Capture {
  FunctionValue* lambda = nullptr;
  std::vector<SymbolRef> names;
};

/// The captures of `f`, a lambda, or of the lambdas that are given to it.
[[nodiscard]] std::vector<Capture> captures_of(Lowerer& lowerer, const ast::Function& f);
/// The index variables of the captures range over the dimensions in which they stand bare in the lambdas.
void note_bare_uses(Lowerer& lowerer, const std::vector<Capture>& captures);

/// Gives captured names other values for its lifetime.
class Recaptured {
 public:
  Recaptured() = default;
  ~Recaptured();
  Recaptured(const Recaptured&) = delete;
  Recaptured& operator=(const Recaptured&) = delete;
  /// `values`: one per name of the capture.
  void replace(const Capture& capture, const std::vector<Tensor>& values);

 private:
  struct Replaced {
    FunctionValue* lambda;
    Scope* around;
    std::unique_ptr<Scope> scope;
  };
  std::vector<Replaced> replaced_;
};

}  // namespace tdsl::frontend
