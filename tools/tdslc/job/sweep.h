#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Sweeps: one program with several values of its options, as elements of a job array.

namespace tdsl::tools {

/// `lambda=0.1,0.2`
struct Sweep {
  std::string name;
  std::vector<std::string> values;
};
/// Throws rt::RunError (usage).
[[nodiscard]] Sweep parse_sweep(const std::string& text);

/// Arguments of the program, and what they differ in.
struct SweepElement {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> values;  ///< names and values of the sweep
};

/// Every combination of the values, the last sweep fastest: the arguments with `{NAME}` replaced, then `--NAME VALUE`.
/// Without sweeps the arguments alone. Throws rt::RunError (usage) for a name that is swept twice or given as well, and
/// for too many elements.
[[nodiscard]] std::vector<SweepElement> sweep_elements(const std::vector<Sweep>& sweeps,
                                                       const std::vector<std::string>& arguments);

/// Files of an element, by the option that names them.
struct ElementFiles {
  std::vector<std::pair<std::string, std::string>> read, written;
};
/// Throws rt::RunError (usage) if two elements write one file, or one writes what another one reads; names the option,
/// and what to put into the file's name.
void check_files(const std::vector<SweepElement>& elements, const std::vector<ElementFiles>& files);

}  // namespace tdsl::tools
