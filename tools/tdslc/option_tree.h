#pragma once

namespace CLI {
class App;
}

namespace tdsl::tools {

/// `tdslc --options-json`: prints the commands and options of tdslc, the options of executables and the names of passes
/// as JSON, from which tools/manual makes manual pages and completions. Returns the exit code.
[[nodiscard]] int print_option_tree(const CLI::App& app);

}  // namespace tdsl::tools
