#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Sweeps: one program with several option values, as the elements of a job array.

namespace tdsl::tools {

/// `lambda=0.1,0.2`
struct Sweep {
  std::string name;
  std::vector<std::string> values;
};
/// Throws rt::RunError (usage).
[[nodiscard]] Sweep parse_sweep(const std::string& text);

/// A program's arguments, and the swept values among them.
struct SweepElement {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> values;  ///< names and values of the sweep
};

/// All combinations of the values, the last sweep fastest: the arguments with `{NAME}` replaced, followed by `--NAME
/// VALUE`. Without sweeps only the arguments. Throws rt::RunError (usage) for a name that is swept twice or also given,
/// and for too many elements.
[[nodiscard]] std::vector<SweepElement> sweep_elements(const std::vector<Sweep>& sweeps,
                                                       const std::vector<std::string>& arguments);

/// An element's files, by the option that names them.
struct ElementFiles {
  std::vector<std::pair<std::string, std::string>> read, written;
};
/// Throws rt::RunError (usage) if two elements write the same file, or one writes another's input; names the option,
/// and suggests what to add to the file name.
void check_files(const std::vector<SweepElement>& elements, const std::vector<ElementFiles>& files);

}  // namespace tdsl::tools
