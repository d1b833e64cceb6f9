#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tools/build/output_file.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/depfile.h"
#include "tools/tdslc/fortran.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

namespace fs = std::filesystem;

/// Folder of the files, and the prefix of their functions.
struct LibraryName {
  fs::path folder;
  std::string name;
};

LibraryName library_name(const CommandLine& line) {
  const fs::path given = line.output;
  const bool folder = line.output.empty() || line.output.ends_with('/') || fs::is_directory(given);
  LibraryName result{folder ? given : given.parent_path(),
                     folder ? program_name(line.program) : given.filename().string()};
  std::ranges::replace(result.name, '-', '_');
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (!std::ranges::all_of(result.name, letter) || std::isdigit(static_cast<unsigned char>(result.name.front())) != 0) {
    throw UsageError(
        fmt::format("`{}` cannot be a part of names in C: give the library another name, -o DIR/NAME", result.name));
  }
  return result;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw codegen::ToolchainError("cannot read " + path + ": the installation is not complete");
  return text.str();
}

/// `param_goes(name)`: where a param's value is passed.
template <class Where>
std::string listed(const rt::ProgramDeclaration& d, const char* indent, const Where& param_goes) {
  std::string text;
  for (const rt::TensorDeclaration& input : d.inputs)
    text += fmt::format("{}input {}: {}\n", indent, input.name, input.type_text);
  for (const rt::ParamDeclaration& p : d.params) {
    text += fmt::format("{}param {}: {}{}, {}\n", indent, p.name, rt::element_name(p.type),
                        p.default_text ? " = " + *p.default_text : "", param_goes(p.name));
  }
  for (const rt::TensorDeclaration& output : d.outputs)
    text += fmt::format("{}output {}: {}\n", indent, output.name, output.type_text);
  return text;
}

constexpr const char* kHeader = R"(/* @NAME@: @FILE@ as a library, made by @VERSION@.

@DECLARED@
   Link with -l@NAME@. Every function returns TDSL_GOOD (0) or why not; @NAME@_message then says it in a line. )"
                                R"(Nothing ends the process, handles signals, or ends
   an MPI that the caller has started. With several ranks all of them call the functions in the same order. */
#ifndef TDSL_LIBRARY_@NAME@
#define TDSL_LIBRARY_@NAME@

@ABI@
#ifdef __cplusplus
extern "C" {
#endif

typedef struct @NAME@_handle @NAME@_handle;

/* `communicator`: the address of an MPI_Comm, whose ranks run the program together. NULL: MPI_COMM_WORLD, if )"
                                R"(the caller has started MPI (with
   MPI_THREAD_SERIALIZED) or a launcher has started the caller; else this process alone, without MPI. )"
                                R"(`options`: words of the command line, e.g.
   {"--threads", "4"}. The handle is there even after an error: for the message, and to be closed. */
int @NAME@_open(const void *communicator, const char *const *options, int option_count, @NAME@_handle **handle);

/* The same with the address of a communicator of Fortran. */
int @NAME@_open_fortran(const int32_t *communicator, const char *const *options, int option_count, @NAME@_handle )"
                                R"(**handle);

/* The params of the calls that follow, as words of the command line, e.g. {"--alpha", "0.5"}, the same on all )"
                                R"(ranks. Params that are not among them have
   the values of `open`; params without a default must have one by the first call. */
int @NAME@_params(@NAME@_handle *handle, const char *const *options, int option_count);

/* Which boxes of the input or output `name` this rank should have, so that no element has to travel: for )"
                                R"(inputs of these types and shapes (their boxes
   do not matter). Good until the next call. */
int @NAME@_layout(@NAME@_handle *handle, const tdsl_array *inputs, int input_count, const char *name, const )"
                                R"(tdsl_array **layout);

/* Runs the program. Ranks may have any boxes of the inputs, as long as some rank has each element; the )"
                                R"(run does not modify them. Outputs that are not named
   are not computed. An output with boxes is written there; one whose `boxes` is NULL gets everything but its )"
                                R"(name from the library: on each rank
   an even share of its rows, good until the next call. */
int @NAME@_run(@NAME@_handle *handle, const tdsl_array *inputs, int input_count, tdsl_array *outputs, int output_count);

/* `asked` is called about ten times a second by the thread that calls @NAME@_run, between the program's tasks. )"
                                R"(Another value than 0 ends the run on
   all ranks, with TDSL_FAILED. NULL: it is not called. */
int @NAME@_stop_when(@NAME@_handle *handle, int (*asked)(void));

/* Of the last run: writes output number `output`, which was requested as a sparse matrix (TDSL_SPARSE), to the lists )"
                                R"(of `to`, once: `run` has given their lengths. */
int @NAME@_fill(@NAME@_handle *handle, int output, const tdsl_sparse *to);

/* Of the last run: the memory that the library has made for output number `output`, from now on the caller's, )"
                                R"(to be freed with free(). */
void *@NAME@_take(@NAME@_handle *handle, int output);

/* This rank among those that run the program; how many there are. */
int @NAME@_rank(const @NAME@_handle *handle, int *ranks);

/* What went wrong in the last call; "" if nothing did. */
const char *@NAME@_message(const @NAME@_handle *handle);

int @NAME@_close(@NAME@_handle *handle);

#ifdef __cplusplus
}
#endif

#endif
)";

/// `"A": "f64[n, m]", `
std::string python_items(const std::vector<rt::TensorDeclaration>& tensors) {
  std::string text;
  for (const rt::TensorDeclaration& t : tensors)
    text += fmt::format("{}\"{}\": \"{}\"", text.empty() ? "" : ", ", t.name, t.type_text);
  return "{" + text + "}";
}

/// A string of Python.
std::string python_text(const std::string& text) {
  return "\"" + replaced(replaced(text, "\\", "\\\\"), "\"", "\\\"") + "\"";
}

std::string python_params(const rt::ProgramDeclaration& d) {
  std::string text;
  for (const rt::ParamDeclaration& p : d.params)
    text += fmt::format("{}\"{}\": \"{}\"", text.empty() ? "" : ", ", p.name, rt::element_name(p.type));
  return "{" + text + "}";
}

/// "Product" for "product", "LeastSquares" for "least_squares".
std::string class_name(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  // Names already used by the module or by Python.
  for (const char* taken :
       {"", "ArgumentError", "Box", "Error", "OutOfMemory", "Results", "RunError", "None", "True", "False"}) {
    if (result == taken) return result + "Program";
  }
  return result;
}

}  // namespace

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

void build_library(const CommandLine& line, const codegen::Toolchain& toolchain) {
  const LibraryName where = library_name(line);
  const std::string library = (where.folder / ("lib" + where.name + ".so")).string();
  const std::string header = (where.folder / (where.name + ".h")).string();
  const std::string module = (where.folder / (where.name + ".py")).string();
  Front front;
  compile_front(line, {}, front);
  rt::RunFiles files = kept_files(front);
  const std::string fortran = (where.folder / (fortran_module_name(where.name) + ".f90")).string();
  for (const std::string& file : {library, header, module}) files.write("-o", file);
  if (!line.depfile.empty()) files.write_text("--depfile", line.depfile);
  const std::string templates = toolchain.prefix + "/share/tdsl/library/";
  std::string fortran_text;
  if (line.fortran) {
    files.write("-o", fortran);
    fortran_text = fortran_module(front.graph, where.name, read_file(templates + "bridge.f90"));
  }
  const codegen::OperationProgram operations = lower(front);
  codegen::CompileRequest request;
  request.source = emitted(line, front, operations, true, where.name);
  request.name = where.name;
  request.native = line.native || toolchain.native;
  request.use_cache = !line.no_cache;
  request.include_folder = include_folder(line, front);
  request.headers = front.headers;
  request.library = true;
  const codegen::CompiledProgram program = codegen::compile_program(toolchain, request);

  const rt::ProgramDeclaration declaration = declaration_of(front.graph);
  const auto filled = [&](std::string text) {
    text = replaced(std::move(text), "@NAME@", where.name);
    text = replaced(std::move(text), "@FILE@", fs::path(line.program).filename().string());
    text = replaced(std::move(text), "@VERSION@", std::string("tdslc ") + TDSL_VERSION);
    return text;
  };
  if (!where.folder.empty()) fs::create_directories(where.folder);
  codegen::install_executable(program.path, library);
  codegen::write_text(header, replaced(replaced(filled(kHeader), "@ABI@", read_file(templates + "abi.h")), "@DECLARED@",
                                       listed(declaration, "   ", [&](const std::string& param) {
                                         return fmt::format("--{} VALUE of {}_open or {}_params", param, where.name,
                                                            where.name);
                                       })));
  std::string bridge = replaced(filled(read_file(templates + "bridge.py")), "@CLASS@", class_name(where.name));
  bridge = replaced(std::move(bridge), "@DECLARED@\n", listed(declaration, "    ", [](const std::string& param) {
                      return fmt::format("the keyword {} of the program or of a call", param);
                    }));
  bridge = replaced(std::move(bridge), "@PYTHON@", python_text(toolchain.prefix + "/share/tdsl/python"));
  bridge = replaced(std::move(bridge), "{\"INPUTS\": \"\"}", python_items(declaration.inputs));
  bridge = replaced(std::move(bridge), "{\"OUTPUTS\": \"\"}", python_items(declaration.outputs));
  codegen::write_text(module, replaced(std::move(bridge), "{\"PARAMS\": \"\"}", python_params(declaration)));
  write_depfile(line, front, toolchain, library);
  if (!line.fortran) return;
  codegen::write_text(fortran, replaced(filled(std::move(fortran_text)), "@DECLARED@\n",
                                        listed(declaration, "!   ", [](const std::string&) {
                                          return std::string("an argument of run and run_boxes");
                                        })));
}

}  // namespace tdsl::tools
