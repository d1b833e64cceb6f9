#include "tools/tdslc/fortran.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/types.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

constexpr std::size_t kLongestName = 63;  // of Fortran

struct Argument {
  std::string name;     ///< in TDSL
  std::string fortran;  ///< of the dummy argument
  std::string type;     ///< e.g. "f64"
  std::size_t rank = 0;
  bool optional = false;
};

struct Arguments {
  std::vector<Argument> inputs, params, outputs;
};

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Names in Fortran, where `U` and `u` are equal: those that are taken, or not allowed, begin with `v_`.
class FortranNames {
 public:
  explicit FortranNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

  /// `box`: also the names of its start and shape.
  std::string add(const std::string& name, bool box) {
    std::string result = name;
    while (!is_free(result, box)) result.insert(0, "v_");
    if (result.size() + (box ? std::string_view("_shape").size() : 0) > kLongestName) {
      throw UsageError(
          fmt::format("`{}` is too long for a name in Fortran (--fortran), which has at most {} characters{}", name,
                      kLongestName, box ? ", with `_shape` at its end" : ""));
    }
    for (const std::string& used : all_of(lower_case(result), box)) taken_.insert(used);
    return result;
  }

 private:
  static std::vector<std::string> all_of(const std::string& name, bool box) {
    return box ? std::vector{name, name + "_lo", name + "_shape"} : std::vector{name};
  }
  [[nodiscard]] bool is_free(const std::string& name, bool box) const {
    const std::string lower = lower_case(name);
    if (lower.front() == '_' || lower.starts_with("tdsl_")) return false;
    return std::ranges::none_of(all_of(lower, box), [this](const std::string& n) { return taken_.contains(n); });
  }

  std::set<std::string> taken_;
};

/// Types of Fortran cannot have names of its own types.
std::string type_name(const std::string& library) {
  return FortranNames({"integer", "real", "complex", "logical", "character", "doubleprecision", "byte",
                       lower_case(fortran_module_name(library))})
      .add(library, false);
}

Arguments arguments_of(const ir::Program& program, const std::string& library) {
  Arguments result;
  FortranNames names({"stat", "errmsg", lower_case(type_name(library))});
  const auto tensor = [&](const std::string& name, const ir::Type& type, bool optional) {
    if (ir::is_half(type.scalar))
      throw UsageError(fmt::format("`{}` is {}, a type that Fortran does not have (--fortran); make it f32", name,
                                   ir::name_of(type.scalar)));
    return Argument{name, names.add(name, type.rank() > 0), std::string(rt::element_name(type.scalar)), type.rank(),
                    optional};
  };
  ir::for_each_node(program.body, [&](const ir::Node& n) {
    if (const auto* p = std::get_if<ir::Param>(&n.op)) {
      const std::string type(rt::element_name(program.type(n.results[0]).scalar));
      result.params.push_back({p->name, names.add(p->name, false), type, 0, true});
    } else if (const auto* i = std::get_if<ir::Input>(&n.op)) {
      const ir::Type& type = program.type(n.results[0]);  // a sparse one may be a file, as an option of `open`
      result.inputs.push_back(tensor(i->name, type, type.has_sparse()));
    } else if (const auto* o = std::get_if<ir::Output>(&n.op); o != nullptr && !o->record) {
      result.outputs.push_back(tensor(o->name, program.type(o->value), true));
    }
  });
  std::ranges::stable_partition(result.inputs, [](const Argument& a) { return !a.optional; });
  return result;
}

std::string declared_type(const std::string& type) {
  const std::string_view kind = type == "bool"        ? "logical"
                                : type.front() == 'f' ? "real"
                                : type.front() == 'c' ? "complex"
                                                      : "integer";
  return fmt::format("{}(tdsl_{})", kind, type);
}

/// `head(part, part, …)` in lines of at most about 100 characters.
std::string wrapped(const std::string& indent, const std::string& head, const std::vector<std::string>& parts) {
  constexpr std::size_t kWidth = 100;
  std::string text = indent + head + "(";
  std::size_t length = text.size();
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string part = parts[k] + (k + 1 < parts.size() ? ", " : ")");
    if (length + part.size() > kWidth) {
      text += "&\n" + indent + "    ";
      length = indent.size() + 4;
    }
    text += part;
    length += part.size();
  }
  return text + (parts.empty() ? ")\n" : "\n");
}

/// `part` written `count` times: "", "(:)", "(:, :)".
std::string repeated(const std::string& part, std::size_t count) {
  std::string text;
  for (std::size_t k = 0; k < count; ++k) text += (k == 0 ? "(" : ", ") + part;
  return count == 0 ? text : text + ")";
}

std::string declaration(const std::string& type, const std::string& attributes, const std::string& name,
                        const std::string& dimensions) {
  const std::string head = fmt::format("    {}, {} ::", type, attributes);
  const bool fits = head.size() + name.size() + dimensions.size() < 120;
  return head + (fits ? " " : " &\n        ") + name + dimensions + "\n";
}

std::string see_name(const Argument& a) { return fmt::format("tdsl_see_{}_{}", a.type, a.rank); }

/// The first element of an array, or the second one in dimension `d`.
std::string element_text(std::size_t rank, std::size_t d) {
  std::string text;
  for (std::size_t k = 0; k < rank; ++k)
    text += (k == 0 ? "(" : ", ") + (k == d ? fmt::format("min(2, size(values, {}))", d + 1) : std::string("1"));
  return "values" + (rank == 0 ? text : text + ")");
}

/// Adds an array of a type and rank to a call. Steps between elements are differences of addresses.
std::string see_procedure(const Argument& a) {
  std::string text = fmt::format("\n  subroutine {}(given, is_output, name, values, lo, whole)\n", see_name(a));
  text +=
      "    type(tdsl_call), intent(inout) :: given\n    logical, intent(in) :: is_output\n"
      "    character(*), intent(in) :: name\n";
  text += declaration(declared_type(a.type), "intent(in), optional, target", "values", repeated(":", a.rank));
  text += fmt::format(
      "    integer(tdsl_i64), intent(in), optional :: lo(:), whole(:)\n"
      "    type(c_ptr) :: at(0:{})\n\n    if (.not. present(values)) return\n    at = c_null_ptr\n",
      a.rank);
  const std::string indent = a.rank == 0 ? "    " : "      ";
  if (a.rank > 0) text += "    if (size(values) > 0) then\n";
  for (std::size_t d = 0; d <= a.rank; ++d)  // dimension d of Fortran, from 1; 0: the first element
    text += fmt::format("{}at({}) = c_loc({})\n", indent, d, element_text(a.rank, d == 0 ? a.rank : d - 1));
  if (a.rank > 0) text += "    end if\n";
  const std::size_t bytes = rt::element_size(rt::element_type_named(a.type).value());
  text +=
      fmt::format("    call describe(given, is_output, name, type_{}, {}, shape(values, c_int64_t), at, lo, whole)\n",
                  a.type, bytes);
  return text + "  end subroutine\n";
}

std::vector<Argument> tensors_of(const Arguments& all) {
  std::vector<Argument> tensors = all.inputs;
  tensors.insert(tensors.end(), all.outputs.begin(), all.outputs.end());
  return tensors;
}

/// One argument for each type and rank.
std::vector<Argument> kinds_of(const std::vector<Argument>& tensors) {
  std::vector<Argument> kinds;
  std::set<std::string> seen;
  for (const Argument& a : tensors) {
    if (seen.insert(see_name(a)).second) kinds.push_back(a);
  }
  return kinds;
}

/// Names of the dummy arguments of a tensor.
std::vector<std::string> dummies(const Argument& a, bool boxed) {
  if (!boxed || a.rank == 0) return {a.fortran};
  return {a.fortran, a.fortran + "_lo", a.fortran + "_shape"};
}

std::string tensor_declarations(const Argument& a, bool output, bool boxed) {
  const std::string optional = a.optional ? ", optional" : "";
  std::string text =
      declaration(declared_type(a.type), (output ? "intent(inout)" : "intent(in)") + optional + ", target", a.fortran,
                  repeated(":", a.rank));
  const std::vector<std::string> names = dummies(a, boxed);
  for (std::size_t k = 1; k < names.size(); ++k)
    text += declaration("integer(tdsl_i64)", "intent(in)" + optional, names[k], fmt::format("({})", a.rank));
  return text;
}

std::string see_call(const Argument& a, bool output, bool boxed) {
  std::vector<std::string> parts{"tdsl_given", output ? ".true." : ".false.", "\"" + a.name + "\""};
  for (std::string& name : dummies(a, boxed)) parts.push_back(std::move(name));
  return wrapped("    ", "call " + see_name(a), parts);
}

std::string run_procedure(const Arguments& all, const std::string& type, bool boxed) {
  const std::string name = boxed ? "tdsl_run_boxes" : "tdsl_run";
  std::vector<std::string> parts{"tdsl_model"};
  std::string declarations, calls;
  const auto tensor = [&](const Argument& a, bool output) {
    for (std::string& dummy : dummies(a, boxed)) parts.push_back(std::move(dummy));
    declarations += tensor_declarations(a, output, boxed);
    calls += see_call(a, output, boxed);
  };
  for (const Argument& a : all.inputs) tensor(a, false);
  for (const Argument& a : all.params) {
    parts.push_back(a.fortran);
    declarations += declaration(declared_type(a.type), "intent(in), optional", a.fortran, "");
    calls += wrapped("    ", "call tdsl_param_" + a.type, {"tdsl_given", "\"" + a.name + "\"", a.fortran});
  }
  for (const Argument& a : all.outputs) tensor(a, true);
  parts.insert(parts.end(), {"stat", "errmsg"});
  return wrapped("  ", "subroutine " + name, parts) +
         fmt::format("    class({}), intent(inout) :: tdsl_model\n", type) + declarations +
         "    integer, intent(out), optional :: stat\n    character(*), intent(inout), optional :: errmsg\n"
         "    type(tdsl_call) :: tdsl_given\n\n" +
         (boxed ? "    tdsl_given%boxed = .true.\n" : "") + calls +
         "    call tdsl_finish(tdsl_model%tdsl_state, tdsl_given, stat, errmsg)\n  end subroutine\n\n";
}

}  // namespace

std::string fortran_module_name(const std::string& library) {
  const std::string name = library + "_tdsl";
  return name.front() == '_' ? "v_" + name : name;
}

std::string fortran_module(const ir::Program& program, const std::string& library, std::string text) {
  const std::string module = fortran_module_name(library);
  if (module.size() + std::string_view("_base").size() > kLongestName)
    throw UsageError(
        fmt::format("`{}` is too long for the name of a Fortran module: give the library another name, "
                    "-o DIR/NAME",
                    library));
  const Arguments all = arguments_of(program, library);
  const std::vector<Argument> tensors = tensors_of(all), kinds = kinds_of(tensors);
  const std::string type = type_name(library);
  std::size_t longest = 0;
  for (const Argument& a : tensors) longest = std::max(longest, a.name.size());
  std::string procedures, names;
  for (const Argument& a : kinds) {
    procedures += see_procedure(a);
    names += "  public :: " + see_name(a) + "\n";
  }
  text = replaced(std::move(text), "@MODULE@", module);
  text = replaced(std::move(text), "@TYPE@", type);
  text = replaced(std::move(text), "@NAME_LENGTH@", std::to_string(longest + 1));
  text = replaced(std::move(text), "@TENSORS@", std::to_string(std::max<std::size_t>(tensors.size(), 1)));
  text = replaced(std::move(text), "@PUBLIC@\n", names);
  text = replaced(std::move(text), "@SEE@\n", procedures);
  return replaced(std::move(text), "@RUN@\n", run_procedure(all, type, false) + run_procedure(all, type, true));
}

}  // namespace tdsl::tools
