#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "passes/schedule/isl.h"
#include "tests/unit/passes/support.h"

// tests/passes/<pass>/<case>.in.tir is the program before, <case>.out.tir after the pass; the folder `pipeline` runs
// all passes. Semantics are compared by evaluation on random inputs. TDSL_WRITE_EXPECTED=1 writes the files *.out.tir.

namespace {

using namespace tdsl;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ir::Program transformed(const ir::Program& before, const std::string& pass, passes::PassContext& context) {
  if (pass == "pipeline") return passes::run_pipeline(before, {}, context);
  const auto table = passes::pipeline();
  const auto found = std::ranges::find(table, pass, &passes::Pass::name);
  REQUIRE_MESSAGE(found != table.end(), "no pass is called " << pass);
  return found->run(before, context);
}

bool takes_derivatives(const ir::Program& program) {
  bool found = false;
  ir::for_each_node(program.body,
                    [&](const ir::Node& n) { found = found || std::holds_alternative<ir::Gradient>(n.op); });
  return found;
}

void run_case(const fs::path& input) {
  const std::string stem = input.string().substr(0, input.string().size() - std::string(".in.tir").size());
  INFO(stem);
  const ir::Program before = ir::parse(text_of(input));
  const bool derivatives = takes_derivatives(before);
  tests::check_verified(before, ir::Gradients::kAllowed);
  passes::PassContext context;
  const ir::Program after = transformed(before, input.parent_path().filename().string(), context);
  tests::check_verified(after);
  // Only the pass defines derivatives; ir_differentiate_test compares them with finite differences.
  if (!derivatives) tests::check_same_meaning(before, after);
  std::string actual = ir::print(after);
  for (const passes::PassWarning& w : context.warnings()) actual += "// warning: " + w.message + " [" + w.id + "]\n";
  for (const passes::PassFailure& f : context.failures())
    actual += "// not supported: line " + std::to_string(f.range.line) + ": " + f.message + "; line " +
              std::to_string(f.note_range.line) + ": " + f.note + "\n";
  if (std::getenv("TDSL_WRITE_EXPECTED") != nullptr) std::ofstream(stem + ".out.tir") << actual;
  CHECK(actual == text_of(stem + ".out.tir"));
}

}  // namespace

TEST_CASE("passes: files") {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TDSL_SOURCE_DIR) / "tests/passes")) {
    if (entry.path().string().ends_with(".in.tir")) cases.push_back(entry.path());
  }
  std::ranges::sort(cases);
  CHECK(cases.size() > 20);
  for (const fs::path& path : cases) {
    const bool without_isl = path.parent_path().filename() == "schedule_loops" && !passes::IntegerSets::available();
    if (!without_isl) run_case(path);
  }
}
