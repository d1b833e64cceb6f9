#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/app/run/program_info.h"
#include "runtime/library/abi.h"
#include "runtime/library/arrays.h"

// Between the arrays of the C functions and ours.

namespace tdsl::rt {

/// Throws RunError for what cannot be meant. `with_data`: boxes count, and have memory.
[[nodiscard]] std::vector<Array> read_arrays(std::span<const tdsl_array> arrays, const std::string& kind,
                                             bool with_data);

/// Throws RunError unless they are the program's, each once, and no input or param is missing.
void require_declared(const ProgramInfo& info, const AppOptions& options, std::span<const Array> inputs,
                      std::span<const Array> outputs);

/// Throws RunError where an output's memory is an input's: one is written while the other is still read.
void require_apart(std::span<const Array> inputs, std::span<const Array> outputs);

/// All outputs of the program, without memory.
[[nodiscard]] std::vector<tdsl_array> all_outputs(const ProgramInfo& info);

/// Throws RunError for options that make no sense here.
void refuse_options(const AppOptions& options);

/// Throws RunError unless the words of a command line name params alone.
void require_params(const ProgramInfo& info, const std::vector<std::string>& words);

/// Throws RunError on all ranks unless every processor has the instructions that the library uses.
void require_instructions(World& world);

/// Throws RunError on all ranks unless they have the same program and the same options.
void require_equal_options(World& world, const ProgramInfo& info, const std::vector<std::string>& options);

/// An array of ours as the caller sees it.
class DescribedArray {
 public:
  DescribedArray() = default;
  DescribedArray(const std::string& name, ElementType type, const Extents& shape, std::span<const Operand> boxes);
  DescribedArray(DescribedArray&&) noexcept = default;
  DescribedArray& operator=(DescribedArray&&) noexcept = default;

  [[nodiscard]] const tdsl_array& array() {
    array_.name = name_.c_str();
    array_.boxes = boxes_.data();
    return array_;
  }
  /// All but the name.
  void give(tdsl_array& to);

 private:
  std::string name_;
  std::vector<tdsl_box> boxes_;
  tdsl_array array_{};
};

}  // namespace tdsl::rt
