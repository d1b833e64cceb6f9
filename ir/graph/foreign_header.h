#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/graph/foreign.h"

// The frontend's interface to the C++ header of an `extern`. HeaderReader hides the C++ parser.

namespace tdsl::ir {

/// How a function with scalars and tiles is declared in the program.
struct ForeignDeclaration {
  std::string name;
  std::vector<Foreign::Parameter> parameters;
  std::vector<std::vector<std::string>>
      dimensions;  ///< per parameter the texts of its extents: equal texts mean equal extents
  bool is_kernel = false;
  Scalar result = Scalar::kF64;  ///< for a `fn`
};

/// An error in a header, or in a file it includes.
struct HeaderProblem {
  enum class Kind : std::uint8_t {
    kUnreadable,  ///< it does not compile as C++
    kSignature,   ///< there is no such function, or its types differ
    kEffect,      ///< it does or needs something outside its parameters
    kOperand,     ///< an operand is used contrary to its declaration
  } kind = Kind::kUnreadable;
  std::string file;  ///< empty: no location
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_column = 0;  ///< on the same line
  std::string message;
  int declaration = -1;  ///< number of the declaration concerned, or -1
};

/// Properties of a function derived from its C++ text.
struct ForeignFunction {
  struct Operand {
    bool reads = false;
    bool writes = false;
    bool constructs = false;  ///< all of its elements are written, and none is read before
    int forwards = -1;        ///< the only operand whose elements, at the same positions, are ever stored, or -1
  };
  std::vector<Operand> operands;  ///< one per parameter
  bool may_stop = true;           ///< it has loops that may not terminate, recursion, or integer division
  double operations = 1;          ///< per call, with loops counted once: arithmetic and calls
  std::string file;               ///< where it is defined
  std::uint32_t line = 0;
};

/// The functions of a header, one per declaration (empty if there are problems), and the user files that were read.
struct HeaderFacts {
  std::vector<ForeignFunction> functions;
  std::vector<HeaderProblem> problems;
  std::vector<std::string> files;
};

/// Reads the header at `path` for these declarations.
using HeaderReader =
    std::function<HeaderFacts(const std::string& path, const std::vector<ForeignDeclaration>& declarations)>;

}  // namespace tdsl::ir
