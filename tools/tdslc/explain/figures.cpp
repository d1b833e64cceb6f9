#include "tools/tdslc/explain/figures.h"

#include <fmt/format.h>

#include "runtime/check.h"
#include "runtime/io/text_file.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

using nlohmann::json;

json read_figures(const std::string& path) {
  json figures;
  try {
    figures = json::parse(rt::read_text_file(path));
  } catch (const json::parse_error& error) {
    throw UsageError(fmt::format("{}: this is no JSON (byte {})", path, error.byte));
  } catch (const json::out_of_range&) {
    throw UsageError(
        fmt::format("{}: it has a number that no double can hold, which neither --plan nor --stats writes", path));
  } catch (const rt::RunError& error) { throw UsageError(error.what()); }
  const bool whole = figures.is_object() && figures.value("version", json()) == 1 && figures.contains("plan_hash") &&
                     figures.contains("statements") && figures.contains("per_rank") &&
                     figures["statements"].is_array() && figures["per_rank"].is_array();
  if (!whole) throw UsageError(fmt::format("{}: this is not what --plan or --stats writes", path));
  for (const json& statement : figures["statements"]) {
    if (!statement.is_object() || !statement.contains("site"))
      throw UsageError(fmt::format("{}: its statements have no sites", path));
  }
  return figures;
}

}  // namespace tdsl::tools
