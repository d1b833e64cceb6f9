#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/app/run/program_info.h"
#include "runtime/library/abi.h"
#include "runtime/library/arrays.h"

// Conversion between the arrays of the C interface and ours.

namespace tdsl::rt {

/// Throws RunError for invalid descriptions. `with_data`: boxes must be valid and have memory.
[[nodiscard]] std::vector<Array> read_arrays(std::span<const tdsl_array> arrays, const std::string& kind,
                                             bool with_data);

/// Throws RunError unless the arrays are the program's, each at most once, and no input or required param is missing.
void require_declared(const ProgramInfo& info, const AppOptions& options, std::span<const Array> inputs,
                      std::span<const Array> outputs);

/// Throws RunError if an output's memory overlaps an input's: outputs are written while inputs are still being read.
void require_apart(std::span<const Array> inputs, std::span<const Array> outputs);

/// Describes a sparse output of this rank, except its lists, to the caller.
void give_counts(const Array& array, const Entries& entries, tdsl_array& to);

/// All outputs of the program, without memory.
[[nodiscard]] std::vector<tdsl_array> all_outputs(const ProgramInfo& info);

/// Throws RunError for options that do not apply to libraries.
void refuse_options(const AppOptions& options);

/// Throws RunError unless all words are params.
void require_params(const ProgramInfo& info, const std::vector<std::string>& words);

/// Throws RunError on all ranks unless every processor supports the instruction sets of the library.
void require_instructions(World& world);

/// Throws RunError on all ranks unless all have the same program and options.
void require_equal_options(World& world, const ProgramInfo& info, const std::vector<std::string>& options);

/// The C description of one of our arrays.
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
  /// Fills in everything except the name.
  void give(tdsl_array& to);

 private:
  std::string name_;
  std::vector<tdsl_box> boxes_;
  tdsl_array array_{};
};

}  // namespace tdsl::rt
