#include <algorithm>
#include <cctype>

#include "runtime/app/options/options.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kColumn = 30;

bool is_builtin(const std::string& name) {
  const auto options = builtin_options();
  return std::ranges::any_of(options, [&](const BuiltinOption& o) { return o.name == name; });
}

/// `--lambda VALUE`, or `--set tile=VALUE` if the name clashes with a built-in option.
std::string spelled(const std::string& name, const std::string& value) {
  return is_builtin(name) ? "--set " + name + "=" + value : "--" + name + " " + value;
}

std::string line(const std::string& option, const std::string& text) {
  std::string result = "  " + option;
  result.append(result.size() < kColumn ? kColumn - result.size() : 2, ' ');
  return result + text + "\n";
}

/// An example value of the param's type.
std::string example_value(const ParamDeclaration& param) {
  if (param.default_text) {
    const std::string& text = *param.default_text;
    // Excludes computed defaults such as `n / 2`.
    const bool number = std::isdigit(static_cast<unsigned char>(text[text.starts_with('-') ? 1 : 0])) != 0;
    const bool plain = text.find_first_of(" ()'\"*/") == std::string::npos;
    if (plain && (number || param.type == ElementType::kBool)) { return text; }
  }
  return param.type == ElementType::kBool ? "true" : is_integer(param.type) ? "10" : "0.5";
}

std::string required_arguments(const ProgramDeclaration& program) {
  std::string text;
  for (const ParamDeclaration& param : program.params) {
    if (!param.default_text) { text += " " + spelled(param.name, example_value(param)); }
  }
  for (const TensorDeclaration& input : program.inputs) { text += " " + spelled(input.name, input.name + ".npy"); }
  return text;
}

std::string examples(const ProgramDeclaration& program) {
  const std::string base = "./" + program.name + required_arguments(program);
  std::string text = "Examples:\n  " + base + "\n";
  std::string files;
  for (const TensorDeclaration& output : program.outputs) { files += " " + spelled(output.name, output.name + ".npy"); }
  text += "  mpirun -n 4 " + base + files + "\n";
  for (const ParamDeclaration& param : program.params) {
    if (param.default_text) {
      text += "  " + base + " " + spelled(param.name, example_value(param)) + "\n";
      break;
    }
  }
  if (!program.dimensions.empty()) { text += "  " + base + " --set " + program.dimensions.front() + "=1000\n"; }
  text += "  " + base + " --threads 2 --tile 512 --stats stats.json\n";
  text += "  " + base + " --dry-run\n";
  return text;
}

}  // namespace

std::string_view value_name(OptionValue value) {
  switch (value) {
    case OptionValue::kFlag:
    case OptionValue::kProgress: return "";
    case OptionValue::kDuration: return "TIME";
    case OptionValue::kFile: return "FILE";
    case OptionValue::kDirectory: return "DIR";
    case OptionValue::kCount: return "N";
    case OptionValue::kSteps: return "T";
    case OptionValue::kSeed: return "N";
    case OptionValue::kSeconds: return "SECONDS";
    case OptionValue::kBytes: return "SIZE";
    case OptionValue::kTile: return "T[,T...]";
    case OptionValue::kAssignment: return "NAME=VALUE";
    case OptionValue::kPlacement: return "NAME=LAYOUT";
    case OptionValue::kNumbers: return "KIND[,KIND]";
    case OptionValue::kPicture: return "NAME[=FILE]";
    case OptionValue::kName: return "NAME";
  }
  return "";
}

std::string help_of(const BuiltinOption& option) {
  const auto* const values = std::get_if<std::string (*)()>(&option.more);
  return std::string(option.help) + (values != nullptr ? (*values)() : "");
}

std::string help_text(const ProgramDeclaration& program) {
  std::string text = "Usage: " + program.name + " [OPTIONS]\n       mpirun -n RANKS " + program.name + " [OPTIONS]\n";
  text += "Compiled from " + program.source_file + ". Options are written --NAME VALUE or --NAME=VALUE.\n";
  if (!program.params.empty()) { text += "\nParams:\n"; }
  for (const ParamDeclaration& param : program.params) {
    text += line(spelled(param.name, "VALUE"),
                 std::string(element_name(param.type)) +
                     (param.default_text ? ", default " + *param.default_text : ", required"));
  }
  if (!program.inputs.empty()) { text += "\nInputs, read from a file each:\n"; }
  for (const TensorDeclaration& input : program.inputs) {
    text += line(spelled(input.name, "FILE"), input.type_text + ", required");
  }
  if (!program.outputs.empty()) { text += "\nOutputs, summarised on the screen unless a file is given:\n"; }
  for (const TensorDeclaration& output : program.outputs) {
    text += line(spelled(output.name, "FILE"), output.type_text);
  }
  if (!program.dimensions.empty()) {
    text += "\nDimensions, bound by the files or fixed by --set:\n ";
    for (const std::string& dimension : program.dimensions) { text += " " + dimension; }
    text += "\n";
  }
  text += "\nBuilt-in options (SIZE: 512MiB, 2G, or bytes):\n";
  for (const BuiltinOption& option : builtin_options()) {
    const std::string_view value = value_name(option.value);
    text += line("--" + std::string(option.name) + (value.empty() ? "" : " ") + std::string(value), help_of(option));
  }
  text += "\n" + examples(program);
  text +=
      "\nExit codes: 0 success, 1 run-time error, 2 usage or does not fit, 69 rank lost, 75 checkpointed, 128+N ended "
      "by signal N.\n";
  return text;
}

}  // namespace tdsl::rt
