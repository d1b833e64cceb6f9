#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/frontend.h"

/// Declarations and uses of all names in a program and its imports, for editors. The index follows the scopes of the
/// language over the syntax tree alone, so it exists for programs with errors and for functions without calls. Lowering
/// resolves names by itself; tests/unit/frontend/index_test.cpp compares both.
namespace tdsl::frontend {

enum class IndexKind : std::uint8_t {
  kParam,
  kInput,
  kOutput,
  kLet,
  kVar,
  kLoop,
  kIndexVariable,
  kDimension,
  kParameter,
  kTypeParameter,
  kFunction,
  kMonoid,
  kStorage,
  kForeign,  ///< a function or kernel of a C++ header
};

/// "let", "index variable", … as hover texts show it.
[[nodiscard]] std::string_view kind_text(IndexKind kind);

struct IndexDeclaration {
  std::string name;
  IndexKind kind = IndexKind::kLet;
  SourceRange range;                    ///< the name
  SourceRange target;                   ///< the name and the subscripts behind it
  SourceRange whole;                    ///< the statement, or the part of it that declares the name
  SourceRange visible;                  ///< where later code sees the name; to the end of the file if `end_line` is 0
  std::int32_t function = -1;           ///< the declaration of the function around it, or -1
  bool global = false;                  ///< of the program's scope: imports bring it into other files
  bool written_type = false;            ///< its type stands in the text
  std::string text;                     ///< as written: a signature, or the first line of the statement
  std::string doc;                      ///< the comment above it, else the one behind it, without delimiters
  std::vector<std::string> types = {};  ///< inferred types; several for a function that is called with several
  std::string value = {};               ///< of a constant, else empty
  std::vector<std::int32_t> parameters = {};  ///< of a function: the declarations of its parameters

  [[nodiscard]] bool is_callable() const;
};

struct IndexUse {
  SourceRange range;
  std::int32_t declaration = -1;
  bool declares = false;  ///< the declaration itself
  bool writes = false;    ///< an assignment, or the declaration
};

/// A name without declaration: of the language, or undeclared.
struct IndexOther {
  std::string name;
  SourceRange range;
  bool called = false;
  bool built_in = false;
};

struct IndexImport {
  SourceRange range;       ///< of the path
  std::uint32_t file = 0;  ///< the imported file
};

struct Index {
  bool complete = false;  ///< the file has no syntax error
  std::vector<IndexDeclaration> declarations;
  std::vector<IndexUse> uses;  ///< in order of file, line and column; declarations included
  std::vector<IndexOther> others;
  std::vector<IndexImport> imports;

  /// The use at this place (line and column from 1; the column behind a name counts too), or null.
  [[nodiscard]] const IndexUse* use_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) const;
  [[nodiscard]] const IndexOther* other_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) const;
  /// All uses of a declaration.
  [[nodiscard]] std::vector<IndexUse> uses_of(std::int32_t declaration) const;
  /// The function around the place, or -1.
  [[nodiscard]] std::int32_t function_at(std::uint32_t file, std::uint32_t line, std::uint32_t column) const;
  /// Declarations that code at the place may mention, innermost last.
  [[nodiscard]] std::vector<std::int32_t> visible_at(std::uint32_t file, std::uint32_t line,
                                                     std::uint32_t column) const;
  /// Adds inferred types to the declarations with these ranges.
  void add_types(const std::vector<DeclaredName>& names);
};

class ParsedFiles;

struct IndexOptions {
  std::string library_directory;  ///< as in CompileOptions
  /// Texts that stand in place of files, such as unsaved ones.
  std::function<std::optional<std::string>(const std::string& path)> read = {};
  ParsedFiles* parsed = nullptr;  ///< as in CompileOptions
};

/// The index of a file and its imports. Imported files that `sources` does not have are added to it.
[[nodiscard]] Index index_of(SourceManager& sources, std::uint32_t file, const IndexOptions& options = {});

/// True if the place is within the range, its end included.
[[nodiscard]] bool covers(const SourceRange& range, std::uint32_t line, std::uint32_t column);
/// The text in the range; columns count characters.
[[nodiscard]] std::string text_in(const SourceManager& sources, const SourceRange& range);
/// The byte offset of column `column` (from 1) in the line, at most its size.
[[nodiscard]] std::size_t byte_in(std::string_view line, std::uint32_t column);

/// Names of all built-in functions.
[[nodiscard]] std::vector<std::string> built_in_names();
[[nodiscard]] bool is_built_in(const std::string& name);
/// True if a declaration of that name would be refused: a reserved word, or a built-in that cannot be hidden.
[[nodiscard]] bool is_taken_word(const std::string& name, bool callable);
}  // namespace tdsl::frontend
