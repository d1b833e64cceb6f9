#pragma once

#include <clang/AST/Decl.h>

#include <functional>
#include <string>

namespace tdsl::codegen {

/// Refuses what a header of the user's does to a program outside of calls of its functions: variables that are
/// initialised or destroyed by code, constructor and destructor functions, assembler, sections and symbols of other
/// names, definitions in place of the library's. Constants, and variables that begin as constants, may be there.
void find_start_effects(clang::ASTContext& context,
                        const std::function<void(clang::SourceRange place, const std::string& message)>& refuse);

}  // namespace tdsl::codegen
