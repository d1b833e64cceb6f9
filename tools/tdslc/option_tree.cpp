#include "tools/tdslc/option_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "passes/pipeline.h"
#include "runtime/app/options/options.h"

namespace tdsl::tools {

namespace {

using nlohmann::ordered_json;

/// Adds the placeholder of an option's value, and the values it takes if they are few: CLI11 has both in one text,
/// `NAME:{a,b}`.
void add_value(ordered_json& option, const std::string& type) {
  const std::size_t colon = type.find(':');
  option["value"] = type.substr(0, colon);
  const std::size_t open = type.find('{', colon == std::string::npos ? type.size() : colon);
  if (open == std::string::npos || !type.ends_with('}')) return;
  option["choices"] = CLI::detail::split(type.substr(open + 1, type.size() - open - 2), ',');
}

ordered_json json_of_option(const CLI::Option& option) {
  ordered_json result;
  result["names"] = ordered_json::array();
  for (const std::string& name : option.get_snames()) result["names"].push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result["names"].push_back("--" + name);
  result["positional"] = option.get_positional();
  result["required"] = option.get_required();
  result["repeated"] = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() > 0) add_value(result, option.get_type_name());
  result["help"] = option.get_description();
  return result;
}

ordered_json options_of_app(const CLI::App& app) {
  ordered_json options = ordered_json::array();
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    options.push_back(json_of_option(*option));
  return options;
}

ordered_json commands_of(const CLI::App& app) {
  ordered_json commands = ordered_json::array();
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back({{"name", command->get_name()},
                        {"description", command->get_description()},
                        {"footer", command->get_footer()},
                        {"options", options_of_app(*command)}});
  return commands;
}

ordered_json options_of_programs() {
  ordered_json options = ordered_json::array();
  for (const rt::BuiltinOption& option : rt::builtin_options()) {
    ordered_json one;
    one["names"] = ordered_json::array({"--" + std::string(option.name)});
    if (option.name == "help") one["names"] = ordered_json::array({"-h", "--help"});
    if (const std::string_view value = rt::value_name(option.value); !value.empty()) one["value"] = value;
    one["help"] = rt::help_of(option);
    options.push_back(std::move(one));
  }
  return options;
}

}  // namespace

int print_option_tree(const CLI::App& app) {
  ordered_json tree = {
      {"name", app.get_name()},           {"version", TDSL_VERSION},        {"description", app.get_description()},
      {"footer", app.get_footer()},       {"options", options_of_app(app)}, {"commands", commands_of(app)},
      {"program", options_of_programs()}, {"passes", ordered_json::array()}};
  for (const passes::Pass& pass : passes::pipeline()) tree["passes"].push_back(pass.name);
  fmt::print("{}\n", tree.dump(2));
  return 0;
}

}  // namespace tdsl::tools
