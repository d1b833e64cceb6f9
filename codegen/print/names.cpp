#include "codegen/print/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tdsl::codegen {

namespace {

/// Keywords of C++20 and the names at file or function scope of every emitted program.
constexpr const char* kReserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
    "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
    // used by emitted code
    "Combine", "Cut", "In", "Index", "Interval", "Known", "kScalars", "OpBuilder", "OpClass", "Out", "TaskArgs",
    "Tensor", "at", "place", "argc", "argv", "faults", "fixed", "fn", "info", "inside", "main", "near", "next", "plan",
    "program", "program_info", "rt", "scalar", "session", "std", "t", "tdsl", "total", "value", "walked", "whole",
    // macros and functions of the standard headers
    "errno", "assert", "stdin", "stdout", "stderr", "INFINITY", "NAN", "EOF", "NULL", "unix", "linux", "I"};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

NameTable::NameTable() {
  for (const char* name : kReserved) taken_.insert(name);
}

namespace {

/// Expressions with longer identifiers are named after their function, or `part`.
constexpr std::size_t kLongName = 16;

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

/// Letters and digits, with a single `_` in place of other characters between them: C++ reserves identifiers with two
/// in a row.
std::string letters_of(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_alphanumeric(c)) name += c;
    if (!is_alphanumeric(c) && !name.empty() && name.back() != '_') name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

/// True if the text contains one of these outside of brackets.
bool holds_outside(std::string_view text, std::initializer_list<std::string_view> parts) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' || text[at] == '[' ? 1 : text[at] == ')' || text[at] == ']' ? -1 : 0;
    if (depth == 0 && std::ranges::any_of(parts, [&](std::string_view p) { return text.substr(at).starts_with(p); }))
      return true;
  }
  return false;
}

/// True if the text contains a number or an element, or is longer than names are.
bool is_complex(std::string_view text) {
  char before = ' ';
  for (const char c : text) {
    if (c == '[' || (std::isdigit(static_cast<unsigned char>(c)) != 0 && !is_alphanumeric(before) && before != '_'))
      return true;
    before = c;
  }
  return letters_of(text).size() > kLongName;
}

/// True for the display name of an unnamed value.
bool is_number_of_value(std::string_view name) {
  return name.starts_with('t') && name.size() > 1 &&
         std::ranges::all_of(name.substr(1), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

std::string name_of_expression(std::string_view text) {
  if (holds_outside(text, {", "})) return "packed";
  if (holds_outside(text, {" == ", " != ", " < ", " > ", " <= ", " >= ", " && ", " || "})) return "condition";
  if (!is_complex(text)) return letters_of(text);
  const std::string_view function = text.substr(0, text.find_first_of("[("));
  return is_identifier(function) && !is_number_of_value(function) ? std::string(function) : "part";
}

}  // namespace

std::string identifier_of(std::string_view wanted) {
  std::string name = is_identifier(wanted) ? letters_of(wanted) : name_of_expression(wanted);
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) name = "v" + name;
  return name;
}

std::string NameTable::claim(std::string_view wanted) {
  const std::string name = identifier_of(wanted);
  std::string unique = name;
  for (int k = 2; !taken_.insert(unique).second; ++k) unique = fmt::format("{}_{}", name, k);
  return unique;
}

std::string solve_kind_text(rt::routines::SolveKind kind) {
  std::string word(name_of(kind));
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return "rt::routines::SolveKind::k" + word;
}

std::string place_text(const ir::SourceRange& place) {
  return place.file == 0 ? fmt::format("{}", place.line) : fmt::format("rt::in_file({}, {})", place.file, place.line);
}

std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '?': result += result.ends_with('?') ? "\\?" : "?"; break;  // no trigraphs
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      default:
        if (is_control(c)) {
          result += fmt::format("\\{:03o}", static_cast<unsigned>(c));
        } else {
          result += c;
        }
    }
  }
  return result + '"';
}

std::string line_comment(std::string_view text) {
  std::string result = "// ";
  for (const char c : text) result += is_control(c) ? ' ' : c;
  while (result.ends_with(' ') || result.ends_with('\\') || result.ends_with("?\?/")) result.pop_back();
  return result;
}

}  // namespace tdsl::codegen
