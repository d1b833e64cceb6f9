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
    "program", "program_info", "rt", "scalar", "session", "std", "t", "tdsl", "total", "value", "whole",
    // macros and functions of the standard headers
    "errno", "assert", "stdin", "stdout", "stderr", "INFINITY", "NAN", "EOF", "NULL", "unix", "linux", "I"};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

NameTable::NameTable() {
  for (const char* name : kReserved) taken_.insert(name);
}

namespace {

/// Longer names of expressions are cut: `sum[i](X[i, j] * p[i] * …)` is `sum`.
constexpr std::size_t kLongName = 24;

bool is_identifier(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

std::string_view shortened(std::string_view wanted) {
  if (wanted.size() <= kLongName || is_identifier(wanted)) return wanted;
  const std::string_view function = wanted.substr(0, wanted.find_first_of("[("));
  return !function.empty() && is_identifier(function) ? function : wanted.substr(0, kLongName);
}

}  // namespace

std::string NameTable::claim(std::string_view wanted) {
  std::string name;
  wanted = shortened(wanted);
  for (const char c : wanted) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0;
    // Two underscores in a row are reserved in C++.
    if (good || (!name.empty() && name.back() != '_')) name += good ? c : '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) name = "v" + name;
  std::string unique = name;
  for (int k = 2; !taken_.insert(unique).second; ++k) unique = fmt::format("{}_{}", name, k);
  return unique;
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
