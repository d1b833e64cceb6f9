#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/check.h"
#include "runtime/types.h"

/// Declarations of a program, which determine its command line.
namespace tdsl::rt {

/// `param NAME: TYPE = default;`
struct ParamDeclaration {
  std::string name;
  ElementType type = ElementType::kF64;
  std::optional<std::string> default_text;  ///< the default as written in the source; a param without one is required
};

/// `input NAME: TYPE[dims];` or `output NAME…;`
struct TensorDeclaration {
  std::string name;
  std::string type_text;  ///< for `--help`, e.g. "f64[n, m]"
  bool series = false;    ///< an output whose first dimension, `r`, is that of the records
};

/// All declarations that the command line depends on. Names are unique among params, inputs and outputs; a dimension
/// may share its name with any of them.
struct ProgramDeclaration {
  std::string name;         ///< program name, e.g. "ridge"
  std::string source_file;  ///< e.g. "ridge.tdsl"
  std::string version;      ///< text of `--version`, one line
  std::vector<ParamDeclaration> params;
  std::vector<TensorDeclaration> inputs;
  std::vector<TensorDeclaration> outputs;
  std::vector<std::string> dimensions;  ///< names that `--set` accepts
};

/// Properties of an input file.
struct InputDeclaration {
  std::string name;
  ElementType type = ElementType::kF64;
  std::vector<std::string>
      binds;  ///< per dimension: the dimension name bound by it, or "" for an expression, checked at run time
  int line = 0;
  std::vector<bool> sparse;  ///< per dimension: whether it is sparse; empty: all dense
};

/// Static description of an emitted program. (Functions are out of line to keep compile times of emitted code short.)
class ProgramInfo {
 public:
  ProgramInfo();
  ProgramInfo(const char* name, const char* source_file, const char* version);
  ProgramInfo(ProgramInfo&&) noexcept;
  ProgramInfo& operator=(ProgramInfo&&) noexcept;
  ~ProgramInfo();

  /// Adds a source file name for messages: the program's own first, then imported ones. The text must outlive the
  /// program.
  void file(const char* name);
  /// `default_text` is null for a required param.
  void param(const char* name, ElementType type, const char* default_text = nullptr);
  void input(const char* name, const char* type_text, ElementType type, std::initializer_list<const char*> binds,
             int line, std::initializer_list<bool> sparse = {});
  void output(const char* name, const char* type_text, int line);
  /// An output of records, which are along the first dimension of the type.
  void series(const char* name, const char* type_text, int line);
  void dimensions(std::initializer_list<const char*> names);
  /// Declares that the program is multi-versioned, with variants selected by sizes.
  void chooses();
  /// Declares that kernels of the place also compute values of other places that are not stored in blocks.
  void computes(int place, std::initializer_list<int> inner);

  [[nodiscard]] const ProgramDeclaration& declaration() const { return declaration_; }
  [[nodiscard]] const std::vector<InputDeclaration>& inputs() const { return inputs_; }
  /// True if any dimension of the input is sparse.
  [[nodiscard]] bool is_sparse(std::string_view input) const;
  /// Line that declares the output; 0 if there is no such output.
  [[nodiscard]] int line_of_output(const std::string& name) const;
  /// Throws RunError unless the format of that name supports the output, which exists.
  void require_writable(const std::string& output, const std::string& path) const;
  [[nodiscard]] const std::vector<const char*>& files() const { return files_; }
  [[nodiscard]] bool has_choices() const { return has_choices_; }
  /// Places of values not stored in blocks: those computed by kernels of one place, or all (0).
  [[nodiscard]] std::vector<int> inner_places(int place = 0) const;
  /// Source position of a place number in recorded operations.
  [[nodiscard]] SourceLine at(int place) const;

 private:
  ProgramDeclaration declaration_;
  std::vector<InputDeclaration> inputs_;
  std::vector<int> output_lines_;  ///< in the order of declaration_.outputs
  std::vector<const char*> files_;
  std::map<int, std::vector<int>> inner_places_;
  bool has_choices_ = false;
};

}  // namespace tdsl::rt
