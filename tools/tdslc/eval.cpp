#include "ir/eval/eval.h"

#include <fmt/format.h>

#include <filesystem>

#include "ir/eval/elements.h"
#include "runtime/app/session/dense_storage.h"
#include "runtime/base/number_format.h"
#include "runtime/io/entries/entry_writer.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/input_file.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/shapes.h"
#include "runtime/size.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// `bool` needs contiguous memory, which std::vector<bool> lacks.
template <class T>
struct Elements {
  std::unique_ptr<T[]> data;
  std::size_t size = 0;
  explicit Elements(std::int64_t n)
      : data(std::make_unique<T[]>(static_cast<std::size_t>(n))), size(static_cast<std::size_t>(n)) {}
  [[nodiscard]] std::span<const T> span() const { return {data.get(), size}; }
};

ir::Array read_array(const std::string& name, const std::string& path, ir::Scalar type) {
  const rt::InputFile file = rt::open_input(name, path, type);
  ir::Array array;
  rt::visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::optional<Elements<T>> elements;
    array.shape = rt::read_dense<T>(file, [&](const std::vector<std::int64_t>& shape) {
      if (!rt::is_legal_size(shape, sizeof(T)))
        throw rt::RunError(rt::too_large_text(name, rt::element_name(rt::element_type_of<T>), shape) + " [too-large]");
      if (const auto no_room = file.entries() == nullptr
                                   ? std::nullopt
                                   : rt::no_room_text(name, rt::element_type_of<T>, shape, rt::physical_memory(), 1))
        throw rt::RunError(*no_room + " [out-of-memory]");
      std::int64_t count = 1;
      for (const std::int64_t extent : shape) count *= extent;
      return elements.emplace(count).data.get();
    });
    const std::span<const T> all = elements->span();
    array = ir::eval::zeros(type, std::move(array.shape));
    for (std::size_t k = 0; k < all.size(); ++k) ir::eval::set_element(array, k, ir::eval::slot_of(all[k]));
  });
  array.at_least = file.may_be_longer();
  return array;
}

template <class T>
Elements<T> elements_of(const ir::Array& array) {
  Elements<T> result(array.size());
  for (std::size_t k = 0; k < result.size; ++k) result.data[k] = ir::eval::cpp_value<T>(ir::eval::element(array, k));
  return result;
}

using Writers = std::vector<std::shared_ptr<rt::TensorWriter>>;

/// Datasets of the same file are committed together.
template <class T>
void write_dense(Writers& writers, const std::string& path, const std::vector<std::int64_t>& shape,
                 std::span<const T> elements) {
  const std::shared_ptr<rt::TensorWriter> writer =
      writers.emplace_back(rt::create_tensor(path, rt::element_type_of<T>, shape, rt::Unfinished::kUnnamed));
  const std::vector<std::int64_t> zero(shape.size(), 0);
  const std::vector<std::int64_t> strides = row_major(shape);
  writer->write_box<T>(zero, shape, elements.data(), strides);
}

/// Selects the format by extension.
template <class T>
void write_file(Writers& writers, const std::string& path, const std::vector<std::int64_t>& shape,
                std::span<const T> elements) {
  if (!rt::holds_entries(path)) {
    write_dense(writers, path, shape, elements);
    return;
  }
  const std::unique_ptr<rt::EntryWriter> writer = rt::EntryWriter::create(path, rt::element_type_of<T>, shape);
  rt::write_entries(*writer, rt::nonzeros<T>(shape, elements, writer->written()));
  writer->file().sync();
  writer->file().commit();
}

template <class T>
std::string summary(const std::string& name, const std::vector<std::int64_t>& shape, std::span<const T> all) {
  const std::vector<std::vector<std::int64_t>> shown = rt::summary_indices(shape);
  const std::vector<std::int64_t> strides = row_major(shape);
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t d = 0; d < shown.size(); ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t offset : offsets) {
      for (const std::int64_t x : shown[d]) next.push_back(offset + x * strides[d]);
    }
    offsets = std::move(next);
  }
  Elements<T> picked(static_cast<std::int64_t>(offsets.size()));
  for (std::size_t k = 0; k < offsets.size(); ++k) picked.data[k] = all[static_cast<std::size_t>(offsets[k])];
  return rt::format_summary<T>(name, shape, picked.span());
}

/// Without a file, `output` prints its value at that point.
void show(const std::string& name, const ir::Array& array, const rt::AppOptions& options) {
  if (options.quiet || options.outputs.contains(name)) return;
  rt::visit_element_type(array.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    fmt::print("{}\n", summary<T>(name, array.shape, elements_of<T>(array).span()));
  });
}

/// The summary of a series: the number of records and the last one.
template <class T>
std::string series_text(const std::string& name, const ir::Array& array) {
  const std::vector<std::int64_t> record(array.shape.begin() + 1, array.shape.end());
  std::string last;
  if (array.shape[0] > 0) {
    const Elements<T> all = elements_of<T>(array);
    const std::size_t size = all.size / static_cast<std::size_t>(array.shape[0]);
    last = summary<T>(name, record, all.span().last(size));
  }
  return rt::series_summary(name, rt::element_type_of<T>, array.shape[0], record, last);
}

/// Without a file, a series prints its summary at the end.
void show_series(const ir::EvalResult& result, const rt::AppOptions& options) {
  for (const std::string& name : result.output_order) {
    if (!result.series.contains(name) || options.quiet || options.outputs.contains(name)) continue;
    const ir::Array& array = result.outputs.at(name);
    rt::visit_element_type(
        array.type, [&](auto tag) { fmt::print("{}\n", series_text<typename decltype(tag)::type>(name, array)); });
  }
}

std::string bounds_file(const std::string& folder, const std::string& output) {
  return folder + "/" + output + ".bounds.npy";
}

/// Files are committed after the program has succeeded.
void deliver(Writers& writers, const std::string& name, const ir::Array& array, const rt::AppOptions& options,
             const std::string& bounds) {
  rt::visit_element_type(array.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Elements<T> elements = elements_of<T>(array);
    const auto file = options.outputs.find(name);
    if (file != options.outputs.end()) write_file<T>(writers, file->second, array.shape, elements.span());
  });
  if (bounds.empty()) return;
  std::vector<double> all = array.bounds;
  all.resize(static_cast<std::size_t>(array.size()), 0.0);
  write_dense<double>(writers, bounds_file(bounds, name), array.shape, all);
}

/// Executables use the same base name for source files.
std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

void make_bounds_folder(const std::string& path) {
  std::error_code error;
  if (!path.empty()) std::filesystem::create_directories(path, error);
  if (error) throw UsageError(fmt::format("cannot make the folder {}: {}", path, error.message()));
}

rt::AppOptions program_options(const CommandLine& line, const ir::Program& program) {
  std::vector<std::string> arguments;
  for (const std::string& s : line.set) arguments.insert(arguments.end(), {"--set", s});
  arguments.insert(arguments.end(), line.program_arguments.begin(), line.program_arguments.end());
  return rt::parse_options(declaration_of(program), arguments);
}

/// Throws rt::RunError (usage) if an output file would overwrite an input.
void check_files(const CommandLine& line, const Front& front, const rt::AppOptions& options) {
  rt::RunFiles files = kept_files(front);
  files.add(options);
  if (line.bounds.empty()) return;
  for (const rt::TensorDeclaration& output : declaration_of(front.graph).outputs)
    files.write("--bounds", bounds_file(line.bounds, output.name));
}

/// Rejects file formats that cannot store the output before anything is computed.
void require_writable_outputs(const ir::Program& program, const rt::AppOptions& options) {
  ir::for_each_node(program.body, [&](const ir::Node& n) {
    const auto* const output = std::get_if<ir::Output>(&n.op);
    const auto file = output == nullptr ? options.outputs.end() : options.outputs.find(output->name);
    if (file == options.outputs.end() || output->record) return;
    const std::size_t rank = program.type(output->value).rank();
    output->begins ? rt::require_series_file(file->second, rank - 1) : rt::require_writable_rank(file->second, rank);
  });
  std::vector<std::string> all;
  for (const auto& [name, path] : options.outputs) all.push_back(path);
  for (const std::string& path : all) {
    if (rt::writable_kind(path) == rt::FileKind::kHdf5) rt::require_hdf5_target(path, all);
  }
}

void commit(const Writers& writers) {
  for (const auto& writer : writers) writer->sync();
  for (const auto& writer : writers) writer->commit();
}

/// After a run-time error: the records of series stay. Returns a line for each file.
std::string deliver_series(const ir::EvalResult& result, const rt::AppOptions& options) {
  Writers writers;
  std::string text;
  for (const std::string& name : result.series) {
    const auto file = options.outputs.find(name);
    if (file == options.outputs.end()) continue;
    const ir::Array& array = result.outputs.at(name);
    deliver(writers, name, array, options, "");
    text += fmt::format("`{}` holds {}\n", file->second,
                        rt::counted(static_cast<std::size_t>(array.shape[0]), "complete record"));
  }
  commit(writers);
  return text;
}

}  // namespace

int eval(const CommandLine& line) {
  Front front;
  compile_front(line, {true, false}, front);
  const ir::Program program = differentiated(front);
  const rt::AppOptions options = program_options(line, program);
  if (options.help) {
    fmt::print("{}", rt::help_text(declaration_of(program)));
    return 0;
  }
  check_files(line, front, options);
  require_writable_outputs(program, options);
  link_own_functions(line, front);
  ir::EvalOptions eval;
  eval.seed = options.seed;
  eval.dimensions = options.dimensions;
  for (const auto& [name, value] : options.params) eval.params[name] = literal_of(value);
  eval.input = [&](const std::string& name, ir::Scalar type) {
    return read_array(name, options.inputs.at(name), type);
  };
  eval.origin = [&](const std::string& name) { return options.inputs.at(name); };
  eval.print = [&](const std::string& text) {
    if (!options.quiet) fmt::print("{}\n", text);
  };
  eval.output = [&](const std::string& name, const ir::Array& array) { show(name, array, options); };
  const ir::EvalResult result = ir::evaluate(program, eval);
  if (result.error) {
    if (!flush_output()) return 1;
    const ir::SourceRange& range = result.error->range;
    const std::string place =
        range.known() ? fmt::format("{}:{}: ", base_name(front.sources.name(range.file)), range.line) : "";
    print_error(fmt::format("{}{}\n{}", place, result.error->message, deliver_series(result, options)));
    return 1;
  }
  show_series(result, options);
  if (!flush_output()) return 1;  // no files are written then, as with executables
  make_bounds_folder(line.bounds);
  Writers writers;
  for (const std::string& name : result.output_order)
    deliver(writers, name, result.outputs.at(name), options, line.bounds);
  commit(writers);
  return 0;
}

}  // namespace tdsl::tools
