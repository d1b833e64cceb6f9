#include "runtime/app/options/options.h"

#include <algorithm>
#include <set>

#include "runtime/base/nearest_name.h"
#include "runtime/message_id.h"
#include "runtime/plan/schedules/schedule.h"
#include "runtime/plan/time_tile.h"

namespace tdsl::rt {

namespace {

constexpr BuiltinOption kBuiltins[] = {
    {"tile", OptionValue::kTile, "edge of every block, or one edge per dimension (256,512)"},
    {"threads", OptionValue::kCount, "threads per rank"},
    {"seed", OptionValue::kSeed, "seed of random numbers without a key (default 0)"},
    {"set", OptionValue::kAssignment, "give a param, an input, an output or a dimension; may be repeated"},
    {"plan", OptionValue::kFile, "write the plan with its predictions as JSON", &AppOptions::plan_file},
    {"stats", OptionValue::kFile, "write predicted and measured statistics as JSON", &AppOptions::stats_file},
    {"memory", OptionValue::kBytes, "memory limit per rank for all blocks (owned, received, copied)"},
    {"window", OptionValue::kBytes, "memory limit per rank for steps admitted ahead (prefetch window)"},
    {"spill", OptionValue::kDirectory,
     "directory for tensors that do not fit in memory (default: local scratch); none: never spill", &AppOptions::spill},
    {"schedule", OptionValue::kName,
     "planner (default: auto, the cheapest of all; greedy: one operation at a time): ", plan::schedule_names},
    {"node-grid", OptionValue::kName,
     "the nodes as a grid (16x1x1) for --schedule=lshs (default: one or two dimensions)"},
    {"use-plan", OptionValue::kFile, "use the plan in FILE, written by --save-plan", &AppOptions::use_plan_file},
    {"save-plan", OptionValue::kFile, "write the plan of the whole program, for --use-plan",
     &AppOptions::save_plan_file},
    {"place", OptionValue::kPlacement,
     "fix the layout of NAME (i0:a,i1:b or i0:2,i1:2) and plan the rest around it; may be repeated"},
    {"factorise", OptionValue::kName,
     "auto, local, distributed or indirect: how cholesky, lu, solve, qr and running sums run"},
    {"time-tile", OptionValue::kSteps,
     "steps of a loop of stencils between exchanges (default 1); auto: the cheapest number"},
    {"reproducible", OptionValue::kFlag, "the same bits for every number of ranks and threads",
     &AppOptions::reproducible},
    {"no-replay", OptionValue::kFlag, "plan and schedule every iteration of a loop, also if it repeats the one before",
     &AppOptions::no_replay},
    {"shared-windows", OptionValue::kFlag, "ranks of a node read each other's large blocks in place",
     &AppOptions::shared_windows},
    {"checkpoint", OptionValue::kDirectory,
     "write checkpoints to DIR, periodically and on SIGUSR1 or SIGTERM (then exit with code 75)",
     &AppOptions::checkpoint_directory},
    {"checkpoint-every", OptionValue::kDuration,
     "checkpoint interval: 600, 10m, 2h (default: 10m, at most 2 % of the time); 0: every iteration"},
    {"resume", OptionValue::kDirectory, "resume from the newest checkpoint in DIR", &AppOptions::resume_directory},
    {"trace", OptionValue::kFile, "write a timeline of tasks and messages, for Chrome, Perfetto and tdslc report",
     &AppOptions::trace_file},
    {"profile", OptionValue::kFlag, "print where the time went, by source line", &AppOptions::profile},
    {"check", OptionValue::kNumbers, "nan, inf or nan,inf: stop where one comes up, and say where"},
    {"progress", OptionValue::kProgress, "print progress on standard error; --progress=json: a JSON object per line"},
    {"picture", OptionValue::kPicture,
     "draw an output, or a slice of it such as u[:, :, 3], as .png or .svg; without FILE into --stats; may be "
     "repeated"},
    {"heartbeat", OptionValue::kSeconds,
     "seconds without a sign of life after which a rank is lost (default 15); 0: never"},
    {"dry-run", OptionValue::kFlag, "check inputs, shapes, memory and disk, then stop", &AppOptions::dry_run},
    {"quiet", OptionValue::kFlag, "print only errors and the program's own output", &AppOptions::quiet},
    {"help", OptionValue::kFlag, "print this text", &AppOptions::help},
    {"version", OptionValue::kFlag, "print the version", &AppOptions::version},
};

[[noreturn]] void fail_usage(const std::string& message, std::string_view id = "bad-option") {
  throw RunError(with_id(message, id), ExitCode::kUsage);
}

template <class Range>
auto find_named(const Range& range, std::string_view name) {
  const auto found = std::find_if(std::begin(range), std::end(range), [&](const auto& x) { return x.name == name; });
  return found == std::end(range) ? nullptr : &*found;
}

class OptionParser {
 public:
  OptionParser(const ProgramDeclaration& program, std::span<const std::string> arguments)
      : program_(program), arguments_(arguments) {}

  AppOptions parse(const ParseRules& rules) {
    while (position_ < arguments_.size()) { parse_one(arguments_[position_++]); }
    if (!result_.help && !result_.version) {
      require_all(rules);
      for (PictureRequest& picture : result_.pictures) complete_picture(picture);
    }
    return std::move(result_);
  }

 private:
  void parse_one(const std::string& argument) {
    if (argument == "-h") {
      result_.help = true;
      return;
    }
    if (argument.size() < 3 || argument.compare(0, 2, "--") != 0) {
      fail_usage("unexpected argument `" + argument + "`; options have the form --NAME VALUE (see --help)");
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    inline_value_ = equals == std::string::npos ? std::nullopt : std::optional(argument.substr(equals + 1));
    if (const BuiltinOption* builtin = find_named(kBuiltins, name)) {
      parse_builtin(*builtin);
    } else if (is_program_name(name)) {
      assign(name, take_value(name), "--" + name);
    } else {
      fail_unknown(name);
    }
  }

  /// The text after `=`, else the next argument.
  std::string take_value(const std::string& name) {
    if (inline_value_) { return *inline_value_; }
    if (position_ == arguments_.size() || arguments_[position_].compare(0, 2, "--") == 0) {
      fail_usage("--" + name + " needs a value");
    }
    return arguments_[position_++];
  }

  [[nodiscard]] bool is_program_name(const std::string& name) const {
    return find_named(program_.params, name) != nullptr || find_named(program_.inputs, name) != nullptr ||
           find_named(program_.outputs, name) != nullptr;
  }

  [[nodiscard]] bool is_dimension(const std::string& name) const {
    return std::find(program_.dimensions.begin(), program_.dimensions.end(), name) != program_.dimensions.end();
  }

  void note_once(const std::string& kind, const std::string& name) {
    if (!seen_.insert(kind + name).second) { fail_usage(kind + name + " is given twice"); }
  }

  /// Assigns a value to a param, input or output.
  void assign(const std::string& name, const std::string& text, const std::string& what) {
    note_once("", name);
    if (const ParamDeclaration* param = find_named(program_.params, name)) {
      result_.params.emplace(name, parse_scalar(param->type, text, what));
      return;
    }
    if (text.empty()) { fail_usage(what + " needs a file name"); }
    (find_named(program_.inputs, name) != nullptr ? result_.inputs : result_.outputs).emplace(name, text);
  }

  void parse_set() {
    const std::string text = take_value("set");
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) { fail_usage("--set: `" + text + "` has not the form NAME=VALUE"); }
    const std::string name = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    const bool number = !value.empty() && value.find_first_not_of("0123456789_") == std::string::npos;
    if (is_program_name(name) && (!is_dimension(name) || !number || find_named(program_.params, name) != nullptr)) {
      assign(name, value, "--set " + name);
    } else if (is_dimension(name)) {
      note_once("dimension ", name);
      const auto extent = std::get<std::int64_t>(parse_scalar(ElementType::kI64, value, "--set " + name));
      if (extent < 0) { fail_usage("--set " + name + ": an extent is not negative"); }
      result_.dimensions.emplace(name, extent);
    } else {
      std::vector<std::string> names = own_names();
      names.insert(names.end(), program_.dimensions.begin(), program_.dimensions.end());
      const std::string nearest = nearest_name(name, names);
      fail_usage("--set: " + program_.name + " has no param, input, output or dimension `" + name + "`" +
                 (nearest.empty() ? "" : "; did you mean `" + nearest + "`?"));
    }
  }

  void parse_builtin(const BuiltinOption& option) {
    const std::string name(option.name);
    const std::string what = "--" + name;
    const bool repeats = option.value == OptionValue::kAssignment || option.value == OptionValue::kPlacement ||
                         option.value == OptionValue::kPicture;
    if (!repeats) { note_once("--", name); }
    switch (option.value) {
      case OptionValue::kFlag:
        if (inline_value_) { fail_usage(what + " takes no value"); }
        result_.*std::get<bool AppOptions::*>(option.more) = true;
        break;
      case OptionValue::kAssignment: parse_set(); break;
      case OptionValue::kPlacement: result_.place.push_back(take_value(name)); break;
      case OptionValue::kPicture: result_.pictures.push_back(parse_picture(take_value(name), what)); break;
      case OptionValue::kProgress:
        if (inline_value_ && *inline_value_ != "json") { fail_usage(what + ": `" + *inline_value_ + "` is not json"); }
        result_.progress = true;
        result_.progress_json = inline_value_.has_value();
        break;
      case OptionValue::kTile: result_.tile = parse_tile(take_value(name), what); break;
      case OptionValue::kSeed: result_.seed = parse_seed(take_value(name)); break;
      case OptionValue::kCount:
        result_.threads = parse_count(take_value(name), what);
        if (*result_.threads > kMostThreads)
          fail_usage(what + ": a rank has at most " + std::to_string(kMostThreads) + " threads, not " +
                     std::to_string(*result_.threads));
        break;
      case OptionValue::kSteps: {
        const std::string steps = take_value(name);
        result_.time_tile = steps == "auto" ? 0 : parse_count(steps, what);
        if (result_.time_tile > plan::kMostHeight)
          fail_usage(what + ": at most " + std::to_string(plan::kMostHeight) + " steps, not " + steps);
        break;
      }
      case OptionValue::kSeconds: {
        const std::string seconds = take_value(name);
        result_.heartbeat = seconds == "0" ? 0 : parse_count(seconds, what);
        break;
      }
      case OptionValue::kBytes: {
        std::string& text = name == "memory" ? result_.memory_text : result_.window_text;
        text = take_value(name);
        (name == "memory" ? result_.memory_bytes : result_.window_bytes) = parse_bytes(text, what);
        break;
      }
      case OptionValue::kNumbers: result_.check = parse_number_kinds(take_value(name), what); break;
      case OptionValue::kDuration: result_.checkpoint_every = parse_duration(take_value(name), what); break;
      case OptionValue::kFile:
      case OptionValue::kDirectory:
      case OptionValue::kName: {
        if (name == "factorise") {
          result_.factorise = parse_factorise(take_value(name));
          break;
        }
        if (name == "schedule") {
          result_.schedule = parse_schedule(take_value(name));
          break;
        }
        if (name == "node-grid") {
          result_.node_grid = parse_grid(take_value(name), what);
          break;
        }
        const std::string text = take_value(name);
        if (text.empty()) { fail_usage(what + " needs a value"); }
        result_.*std::get<std::optional<std::string> AppOptions::*>(option.more) = text;
        break;
      }
    }
  }

  static plan::Factorise parse_factorise(const std::string& text) {
    const std::map<std::string, plan::Factorise> forms{{"auto", plan::Factorise::kAuto},
                                                       {"local", plan::Factorise::kLocal},
                                                       {"distributed", plan::Factorise::kDistributed},
                                                       {"indirect", plan::Factorise::kIndirect}};
    const auto found = forms.find(text);
    if (found == forms.end()) { fail_usage("--factorise: `" + text + "` is not auto, local, distributed or indirect"); }
    return found->second;
  }

  static const plan::Schedule* parse_schedule(const std::string& text) {
    const plan::Schedule* schedule = plan::schedule_named(text);
    if (schedule == nullptr && text != plan::name_of(nullptr))
      fail_usage("--schedule: `" + text + "` is none of " + plan::schedule_names());
    return schedule;
  }

  static std::uint64_t parse_seed(const std::string& text) {
    const auto seed = std::get<std::int64_t>(parse_scalar(ElementType::kI64, text, "--seed"));
    return static_cast<std::uint64_t>(seed);
  }

  static int parse_count(const std::string& text, const std::string& what) {
    const auto count = std::get<std::int32_t>(parse_scalar(ElementType::kI32, text, what));
    if (count < 1) { fail_usage(what + ": `" + text + "` is not a number of at least 1"); }
    return count;
  }

  [[nodiscard]] std::vector<std::string> own_names() const {
    std::vector<std::string> names;
    const auto add = [&names](const auto& declarations) {
      for (const auto& declaration : declarations) { names.push_back(declaration.name); }
    };
    add(program_.params);
    add(program_.inputs);
    add(program_.outputs);
    return names;
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    if (is_dimension(name)) {
      fail_usage("--" + name + ": " + name + " is a dimension; fix its extent with --set " + name + "=VALUE");
    }
    std::vector<std::string> names = own_names();
    for (const BuiltinOption& option : kBuiltins) { names.emplace_back(option.name); }
    const std::string nearest = nearest_name(name, names);
    fail_usage("unknown option --" + name + (nearest.empty() ? " (see --help)" : "; did you mean --" + nearest + "?"));
  }

  void require_all(const ParseRules& rules) const {
    const auto spelled = [](const std::string& name, const std::string& value) {
      return find_named(kBuiltins, name) != nullptr ? "--set " + name + "=" + value : "--" + name + " " + value;
    };
    std::string missing;
    for (const ParamDeclaration& param : program_.params) {
      if (rules.params_required && !param.default_text && !result_.params.contains(param.name)) {
        missing += "\n  " + spelled(param.name, "VALUE") + "    param of type " + std::string(element_name(param.type));
      }
    }
    for (const TensorDeclaration& input : program_.inputs) {
      if (rules.inputs_required && !result_.inputs.contains(input.name)) {
        missing += "\n  " + spelled(input.name, "FILE") + "    input of type " + input.type_text;
      }
    }
    if (!missing.empty()) { fail_usage("missing:" + missing + "\n(see --help)", "missing-input"); }
  }

  /// Number of dimensions of a declared type such as `f64[n, max(m, 2)]`.
  static std::size_t rank_of(const std::string& type_text) {
    const std::size_t open = type_text.find('[');
    if (open == std::string::npos) { return 0; }
    std::size_t rank = 1, depth = 0;
    for (const char c : type_text.substr(open)) {
      if (c == '[' || c == '(') { ++depth; }
      if (c == ']' || c == ')') { --depth; }
      if (c == ',' && depth == 1) { ++rank; }
    }
    return rank;
  }

  /// Checks the request, and adds the slice that it omits.
  void complete_picture(PictureRequest& picture) const {
    const TensorDeclaration* const output = find_named(program_.outputs, picture.name);
    if (output == nullptr) {
      std::vector<std::string> names;
      for (const TensorDeclaration& declared : program_.outputs) { names.push_back(declared.name); }
      const std::string nearest = nearest_name(picture.name, names);
      fail_usage("--picture: " + program_.name + " has no output `" + picture.name + "`" +
                 (nearest.empty() ? "" : "; did you mean `" + nearest + "`?"));
    }
    if (output->series) {
      fail_usage("--picture: `" + picture.name +
                 "` is a series; write it to a file and draw a record with tdslc plot FILE");
    }
    picture.slice = slice_of(picture.slice, rank_of(output->type_text), picture.name, "--picture");
    if (!picture.file && !result_.stats_file) {
      fail_usage("--picture " + picture.name + " needs a file, " + picture.name + "=" + picture.name +
                 ".png, or --stats FILE, which then has the picture");
    }
  }

  const ProgramDeclaration& program_;
  std::span<const std::string> arguments_;
  std::size_t position_ = 0;
  std::optional<std::string> inline_value_;
  std::set<std::string> seen_;
  AppOptions result_;
};

}  // namespace

std::span<const BuiltinOption> builtin_options() { return kBuiltins; }

AppOptions parse_options(const ProgramDeclaration& program, std::span<const std::string> arguments,
                         const ParseRules& rules) {
  return OptionParser(program, arguments).parse(rules);
}

}  // namespace tdsl::rt
