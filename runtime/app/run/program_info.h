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

/// What a program declares: its command line depends on nothing else.
namespace tdsl::rt {

/// `param NAME: TYPE = default;`
struct ParamDeclaration {
  std::string name;
  ElementType type = ElementType::kF64;
  std::optional<std::string> default_text;  ///< the default as written in the source; without it the param is required
};

/// `input NAME: TYPE[dims];` or `output NAME…;`
struct TensorDeclaration {
  std::string name;
  std::string type_text;  ///< for `--help`, e.g. "f64[n, m]"
};

/// Everything of a program that its command line depends on. Names are unique among params, inputs and outputs
/// together; a dimension may share its name with any of them.
struct ProgramDeclaration {
  std::string name;         ///< of the program, e.g. "ridge"
  std::string source_file;  ///< e.g. "ridge.tdsl"
  std::string version;      ///< text of `--version`, one line
  std::vector<ParamDeclaration> params;
  std::vector<TensorDeclaration> inputs;
  std::vector<TensorDeclaration> outputs;
  std::vector<std::string> dimensions;  ///< names that `--set` may fix
};

/// How an input's file is read.
struct InputDeclaration {
  std::string name;
  ElementType type = ElementType::kF64;
  std::vector<std::string>
      binds;  ///< per dimension: the dimension name bound here, or "": an expression, checked at run time
  int line = 0;
  std::vector<bool> sparse;  ///< per dimension: whether it is stored sparse; empty: none is
};

/// What emitted programs say about themselves before they run. (Its functions are not inline: emitted code that
/// declares things shall compile quickly.)
class ProgramInfo {
 public:
  ProgramInfo();
  ProgramInfo(const char* name, const char* source_file, const char* version);
  ProgramInfo(ProgramInfo&&) noexcept;
  ProgramInfo& operator=(ProgramInfo&&) noexcept;
  ~ProgramInfo();

  /// For messages, of a program with several files: its own, then imported ones. The text must outlive the program.
  void file(const char* name);
  /// `default_text` is null for a param that is required.
  void param(const char* name, ElementType type, const char* default_text = nullptr);
  void input(const char* name, const char* type_text, ElementType type, std::initializer_list<const char*> binds,
             int line, std::initializer_list<bool> sparse = {});
  void output(const char* name, const char* type_text, int line);
  void dimension(const char* name);
  /// The program has several forms, among which sizes decide.
  void chooses();
  /// Kernels of the place compute values of other places, too, which are in no block.
  void computes(int place, std::initializer_list<int> inner);

  [[nodiscard]] const ProgramDeclaration& declaration() const { return declaration_; }
  [[nodiscard]] const std::vector<InputDeclaration>& inputs() const { return inputs_; }
  /// Whether the input is stored sparse in some dimension.
  [[nodiscard]] bool is_sparse(std::string_view input) const;
  /// The line that says what the output is; 0 if there is no such output.
  [[nodiscard]] int line_of_output(const std::string& name) const;
  /// How many dimensions the output's type has; requires that there is such an output.
  [[nodiscard]] std::size_t rank_of_output(const std::string& name) const;
  [[nodiscard]] const std::vector<const char*>& files() const { return files_; }
  [[nodiscard]] bool has_choices() const { return has_choices_; }
  /// Places of values that are in no block: of the kernels of one place, or of all (0).
  [[nodiscard]] std::vector<int> inner_places(int place = 0) const;
  /// What the place that recorded operations name means.
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
