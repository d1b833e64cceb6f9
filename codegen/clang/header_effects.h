#pragma once

#include <clang/AST/Decl.h>

#include <functional>
#include <string>

namespace tdsl::codegen {

/// What a C++ function does besides computing with its parameters.
struct Effects {
  /// Called for everything that is refused, at a place of the user's.
  std::function<void(clang::SourceRange place, const std::string& message)> refuse;
  bool may_stop = false;
  double operations = 0;
};

/// Walks the function and all that it calls.
void find_effects(clang::ASTContext& context, const clang::FunctionDecl& function, Effects& effects);

/// Whether the text is the user's own: neither a system header's nor the runtime's.
[[nodiscard]] bool is_users(const clang::ASTContext& context, clang::SourceLocation place);

}  // namespace tdsl::codegen
