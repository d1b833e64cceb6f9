#pragma once

#include <memory>
#include <vector>

#include "frontend/lower/lowerer.h"

// Lambdas that mention index variables.
namespace tdsl::frontend {

/// A lambda of a call, and its uses of index variables around it.
struct Capture {
  FunctionValue* lambda = nullptr;
  std::vector<SymbolRef> names;  ///< denote expressions of index variables
  /// Elements of tensors at index variables that stay in bounds: `c[i]`.
  std::vector<const ast::Subscript*> elements;
};

/// The captures of `f`, a lambda, or of the lambdas that are given to it.
[[nodiscard]] std::vector<Capture> captures_of(Lowerer& lowerer, const ast::Function& f);
/// The values of the names, then of the elements of a capture outside of the lambda. Notes the dimensions in which
/// index variables stand bare, so that they range over these.
[[nodiscard]] std::vector<Tensor> values_outside(Lowerer& lowerer, const Capture& capture);
/// The value that replaces an element in the lambda whose body is being lowered, or null.
[[nodiscard]] const Tensor* captured_element(const Lowerer& lowerer, const Scope& scope, const ast::Subscript& s);

/// Gives captured names and elements other values for its lifetime.
class Recaptured {
 public:
  explicit Recaptured(Inlining& inlining) : inlining_(inlining), saved_(inlining.elements) {}
  ~Recaptured();
  Recaptured(const Recaptured&) = delete;
  Recaptured& operator=(const Recaptured&) = delete;
  /// `values`: as of `values_outside`.
  void replace(const Capture& capture, const std::vector<Tensor>& values);

 private:
  struct Replaced {
    FunctionValue* lambda;
    Scope* around;
    std::unique_ptr<Scope> scope;
  };
  Inlining& inlining_;
  std::map<const ast::Subscript*, CapturedElement> saved_;
  std::vector<Replaced> replaced_;
};

}  // namespace tdsl::frontend
