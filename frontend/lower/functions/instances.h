#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/lower/lowerer.h"

// Calls of functions with type parameters, parameters of function type, literal parameters, defaults and named
// arguments. Such a call is the call of an instance: a function with those parameters alone that are given as values.
namespace tdsl::frontend {

/// A call of a function with values only.
struct InstantiatedCall {
  const ast::Function* function = nullptr;  ///< the function itself if its call has positional values only
  const ast::Call* call = nullptr;          ///< its arguments are those of `function`
  std::vector<Tensor> arguments;
};

/// Matches arguments with parameters, and binds types, functions and literals. Reports errors and recursion.
[[nodiscard]] InstantiatedCall instantiate(Lowerer& lowerer, const ast::Function& f, const ast::Call& call,
                                           const SourceRange& range);
/// Binds the type parameters of a function whose parameters are all values, for calls with these arguments.
void bind_instance(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args, const SourceRange& range);
/// The function that an argument denotes: a lambda, or a name.
[[nodiscard]] FunctionValue function_value(Lowerer& lowerer, const ast::Expr& e);
/// The value of the argument of a literal parameter: a constant expression of literals and literal parameters.
[[nodiscard]] std::int64_t literal_argument(Lowerer& lowerer, const Instance& around,
                                            const ast::FunctionParameter& parameter, const ast::Expr& e);
void bind_literal(Lowerer& lowerer, const ast::Identifier& name, std::int64_t value);
/// The literal parameters of a closure's function.
[[nodiscard]] std::vector<ast::FunctionParameter> literal_parameters(const Closure& closure);
/// Calls the parameter of function type that the callee names.
[[nodiscard]] std::vector<Tensor> call_argument(Lowerer& lowerer, const ast::Call& call, const SourceRange& range);
/// True if a function that `f` is given draws random numbers.
[[nodiscard]] bool has_random_argument(const Lowerer& lowerer, const ast::Function& f);

}  // namespace tdsl::frontend
