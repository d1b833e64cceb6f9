#pragma once

#include <clang/AST/Decl.h>

#include <functional>
#include <string>

namespace tdsl::codegen {

/// Effects of a C++ function other than computing with its parameters.
struct Effects {
  /// Called for everything refused, with a location in the user's code.
  std::function<void(clang::SourceRange place, const std::string& message)> refuse;
  bool may_stop = false;
  double operations = 0;
};

/// Traverses the function and all functions that it calls.
void find_effects(clang::ASTContext& context, const clang::FunctionDecl& function, Effects& effects);

/// True if the location is in the user's own code: neither in a system header nor in the runtime.
[[nodiscard]] bool is_users(const clang::ASTContext& context, clang::SourceLocation place);

}  // namespace tdsl::codegen
