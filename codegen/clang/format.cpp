#include "codegen/clang/format.h"

#include <clang/Format/Format.h>
#include <clang/Tooling/Core/Replacement.h>

namespace tdsl::codegen {

std::string formatted(const std::string& source) {
  clang::format::FormatStyle style = clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.ColumnLimit = 120;
  style.AllowShortIfStatementsOnASingleLine = clang::format::FormatStyle::SIS_WithoutElse;
  style.AllowShortLoopsOnASingleLine = false;
  style.AllowShortFunctionsOnASingleLine = clang::format::FormatStyle::SFS_Inline;
  style.ReflowComments = false;
  style.SortIncludes = clang::format::FormatStyle::SI_Never;
  style.Standard = clang::format::FormatStyle::LS_Cpp20;
  const clang::tooling::Range all(0, static_cast<unsigned>(source.size()));
  const clang::tooling::Replacements edits = clang::format::reformat(style, source, {all}, "program.cpp");
  llvm::Expected<std::string> result = clang::tooling::applyAllReplacements(source, edits);
  if (!result) {
    llvm::consumeError(result.takeError());
    return source;
  }
  return *result;
}

}  // namespace tdsl::codegen
