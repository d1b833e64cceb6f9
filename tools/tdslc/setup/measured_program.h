#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/build/toolchain.h"
#include "tools/build/work_folder.h"

namespace tdsl::tools {

/// A small program that measures this machine, built in a temporary folder.
class MeasuredProgram {
 public:
  /// `output`: the name of its only output. Throws ProgramErrors or std::runtime_error if it cannot be built.
  MeasuredProgram(const std::string& name, const std::string& text, const std::string& output,
                  std::vector<std::string> disabled_passes);

  /// The statistics (`--stats`) of a run with one thread per rank. `constants`: text of its machine constants; empty:
  /// the built-in ones. Throws std::runtime_error if it fails.
  [[nodiscard]] nlohmann::json run(int ranks, const std::vector<std::string>& options, const std::string& constants);

 private:
  [[nodiscard]] std::string file(const std::string& name) const;

  std::string name_, output_;
  codegen::Toolchain toolchain_;
  codegen::WorkFolder folder_;
  std::string executable_;
};

}  // namespace tdsl::tools
