#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/graph/foreign.h"

// What the frontend asks about the C++ header of an `extern`, and what it is told. Who reads C++ stands behind
// HeaderReader.

namespace tdsl::ir {

/// One element type or tile: how a function is declared in the program.
struct ForeignDeclaration {
  std::string name;
  std::vector<Foreign::Parameter> parameters;
  std::vector<std::vector<std::string>>
      dimensions;  ///< per parameter the texts of its extents: equal texts, equal extents
  bool is_kernel = false;
  Scalar result = Scalar::kF64;  ///< of a `fn`
};

/// A mistake in a header, or in a file it includes.
struct HeaderProblem {
  enum class Kind : std::uint8_t {
    kUnreadable,  ///< it is no C++ that compiles
    kSignature,   ///< there is no such function, or it is of other types
    kEffect,      ///< it does or needs something that is not in its parameters
    kOperand,     ///< an operand is used against its declaration
  } kind = Kind::kUnreadable;
  std::string file;  ///< empty: no place
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_column = 0;  ///< on the same line
  std::string message;
  int declaration = -1;  ///< the number of the declaration it is about, or -1
};

/// What a function's C++ text says about it.
struct ForeignFunction {
  struct Operand {
    bool reads = false;
    bool writes = false;
    bool constructs = false;  ///< all of its elements are written, and none is read before
    int forwards = -1;        ///< the operand whose elements at the same places are all that is ever stored, or -1
  };
  std::vector<Operand> operands;  ///< one per parameter
  bool may_stop = true;           ///< it has loops that may never end, recursion, or divides integers
  double operations = 1;          ///< of one call, loops counted once: arithmetic and calls
  std::string file;               ///< where it is defined
  std::uint32_t line = 0;
};

/// The functions of a header, one per declaration (none if there are problems), and the files of the user's that were
/// read.
struct HeaderFacts {
  std::vector<ForeignFunction> functions;
  std::vector<HeaderProblem> problems;
  std::vector<std::string> files;
};

/// Reads the header at `path` for these declarations.
using HeaderReader =
    std::function<HeaderFacts(const std::string& path, const std::vector<ForeignDeclaration>& declarations)>;

}  // namespace tdsl::ir
