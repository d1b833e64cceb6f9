#include "tools/build/foreign_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <set>

#include "codegen/print/emit_foreign.h"
#include "runtime/foreign/call.h"
#include "tools/build/compile.h"

namespace tdsl::codegen {

namespace {

std::string entry_name(std::size_t k) { return fmt::format("tdsl_entry_{}", k); }

/// The expression for operand `k` of the call, read from its address.
std::string argument(const ir::Foreign::Parameter& p, std::size_t k) {
  const std::string element = (p.is_output ? "" : "const ") + std::string(ir::cpp_type_of(p.type));
  const std::string place = fmt::format("static_cast<{}*>(places[{}])", element, k);
  if (p.rank == 0) return "*" + place;
  std::string extents;
  for (std::size_t d = 0; d < p.rank; ++d) extents += fmt::format("{}extents[{}][{}]", d == 0 ? "" : ", ", k, d);
  return fmt::format("tdsl::Tile<{}, {}>({}, {{{}}})", element, p.rank, place, extents);
}

}  // namespace

std::string foreign_library_source(const std::vector<ir::ForeignRef>& functions) {
  std::set<std::string> headers;
  std::string declarations;
  std::string definitions;
  std::string entries;
  for (std::size_t k = 0; k < functions.size(); ++k) {
    const ir::Foreign& f = *functions[k];
    headers.insert(f.header);
    const std::string name = fmt::format("call_{}", k);
    const ForeignCall call = foreign_call(f, name);
    declarations += call.declaration;
    definitions += call.definition;
    std::string arguments;
    for (std::size_t p = 0; p < f.parameters.size(); ++p)
      arguments += (p == 0 ? "" : ", ") + argument(f.parameters[p], p);
    const std::string result =
        f.is_kernel ? ""
                    : fmt::format("*static_cast<{}*>(places[{}]) = ", ir::cpp_type_of(f.result), f.parameters.size());
    entries += fmt::format(
        "\nextern \"C\" void {}([[maybe_unused]] void* const* places, [[maybe_unused]] const std::int64_t* const* "
        "extents) {{\n  {}fn::{}({});\n}}\n",
        entry_name(k), result, name, arguments);
  }
  const auto in_namespace = [](const std::string& text) {
    return "namespace tdsl::emitted {\nnamespace {\nnamespace fn {\n" + text + "}\n}\n";
  };
  std::string text =
      "#include <cmath>\n#include <cstdint>\n\n#include \"runtime/complex.h\"\n#include \"runtime/own/tile.h\"\n\n" +
      in_namespace(declarations) + entries + "}\n\n";
  for (const std::string& header : headers) text += fmt::format("#include \"{}\"\n", header);
  return text + "\n" + in_namespace(definitions) + "}\n";
}

void load_foreign_library(const Toolchain& toolchain, const ForeignLibrary& library) {
  CompileRequest request;
  request.source = foreign_library_source(library.functions);
  request.name = library.name + "_functions";
  request.use_cache = library.use_cache;
  request.include_folder = library.include_folder;
  request.headers = library.headers;
  request.shared_object = true;
  const CompiledProgram compiled = compile_program(toolchain, request);
  const std::shared_ptr<void> loaded(::dlopen(compiled.path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* handle) {
    if (handle != nullptr) ::dlclose(handle);
  });
  if (loaded == nullptr) throw CompilerFailure(fmt::format("cannot load the compiled functions: {}", ::dlerror()));
  rt::catch_foreign_signals();
  for (std::size_t k = 0; k < library.functions.size(); ++k) {
    library.functions[k]->entry = reinterpret_cast<ir::Foreign::Entry>(::dlsym(loaded.get(), entry_name(k).c_str()));
    if (library.functions[k]->entry == nullptr)
      throw CompilerFailure(fmt::format("the compiled functions lack `{}`", library.functions[k]->name));
    library.functions[k]->library = loaded;
  }
}

}  // namespace tdsl::codegen
