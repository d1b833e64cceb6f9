#pragma once

#include <clang/AST/Decl.h>

#include <functional>
#include <string>

namespace tdsl::codegen {

/// Refuses effects of a user's header outside of calls of its functions: variables with dynamic initialisation or
/// destruction, constructor and destructor functions, assembler, sections and symbols with other names, replacements of
/// library functions. Constants and constant-initialised variables are allowed.
void find_start_effects(clang::ASTContext& context,
                        const std::function<void(clang::SourceRange place, const std::string& message)>& refuse);

}  // namespace tdsl::codegen
