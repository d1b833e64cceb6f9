#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tdsl::frontend {

// Words that people bring along from Python, NumPy, MATLAB, Julia and C, and how TDSL says the same. Every `…_hint` is
// the end of a message, such as "; write size(x, 0)", or empty if the word is none of these. A word that is known here
// wins over names that are spelt alike: `dot` is not a misspelt `det`.

/// A function elsewhere and what to write here; empty where TDSL has nothing like it. A unit test compiles `write`
/// where x and y are vectors, A and B square matrices, a and b numbers, c and d truth values, k and n integers; it is a
/// statement if it begins with `print`, `let` or `import`.
struct ForeignFunction {
  std::string_view name;
  std::string_view write;
  std::string_view remark = "";
};
[[nodiscard]] std::span<const ForeignFunction> foreign_functions();

[[nodiscard]] std::string function_hint(std::string_view name);
/// Of a value's name, such as `True` or `pi`.
[[nodiscard]] std::string value_hint(std::string_view name);
/// Of a name that stands for a type: also of a misspelt one. Never empty.
[[nodiscard]] std::string type_hint(std::string_view name);
/// The type that another language's name for one means (`double`); else empty.
[[nodiscard]] std::string foreign_type(std::string_view name);
/// Of `object.member`, which is followed by `(` if it is `called`. Never empty.
[[nodiscard]] std::string member_hint(std::string_view object, std::string_view member, bool called);
/// Whether other languages have a module of this name, such as `np`.
[[nodiscard]] bool is_foreign_module(std::string_view name);
/// Of a character that no program uses.
[[nodiscard]] std::string character_hint(std::string_view character);

/// The word that begins a statement in TDSL, by one that does elsewhere (`def`); else empty.
[[nodiscard]] std::string statement_word(std::string_view name);

}  // namespace tdsl::frontend
