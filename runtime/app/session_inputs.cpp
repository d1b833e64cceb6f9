#include "runtime/app/session_inputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/app/number_format.h"
#include "runtime/check.h"
#include "runtime/io/file_bytes.h"

namespace tdsl::rt {

namespace {

std::string shape_text(const std::vector<Index>& shape) {
  std::string text = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  return text + "]";
}

/// What rank 0 found, as text for the others: an error, or the shapes in declaration order.
std::string encode_shapes(const std::vector<std::vector<Index>>& shapes) {
  std::string text;
  for (const std::vector<Index>& shape : shapes) {
    text += std::to_string(shape.size());
    for (const Index extent : shape) text += ' ' + std::to_string(extent);
    text += '\n';
  }
  return text;
}

std::vector<Index> decode_shape(std::string& text) {
  const auto take = [&text] {
    std::size_t used = 0;
    const Index value = std::stoll(text, &used);
    text.erase(0, used + 1);
    return value;
  };
  std::vector<Index> shape(static_cast<std::size_t>(take()));
  for (Index& extent : shape) extent = take();
  return shape;
}

}  // namespace

SessionInputs::SessionInputs(World& world, const ProgramInfo& info, const AppOptions& options) {
  for (const InputDeclaration& input : info.inputs()) {
    const auto given = options.inputs.find(input.name);
    TDSL_CHECK(given != options.inputs.end(), "input " + input.name + " has a file");
    files_[input.name].path = given->second;
  }
  // First line: "good", or "error CODE" followed by the message.
  std::string verdict = "good\n";
  if (world.rank() == 0) {
    try {
      look_at_headers(info, options);
      look_at_targets(info, options);
      std::vector<std::vector<Index>> shapes;
      for (const InputDeclaration& input : info.inputs()) shapes.push_back(files_.at(input.name).shape);
      verdict += encode_shapes(shapes);
    } catch (const RunError& error) {
      verdict = std::string(error.what());
      verdict = "error " + std::to_string(error.exit_code()) + "\n" + verdict;
    }
  }
  world.access().broadcast(verdict, 0);
  const std::string head = verdict.substr(0, verdict.find('\n'));
  verdict.erase(0, head.size() + 1);
  if (head != "good") throw RunError(verdict, static_cast<ExitCode>(std::stoi(head.substr(6))));
  for (const InputDeclaration& input : info.inputs()) files_.at(input.name).shape = decode_shape(verdict);
  bind_dimensions(info, options);
}

void SessionInputs::look_at_headers(const ProgramInfo& info, const AppOptions& options) {
  for (const InputDeclaration& input : info.inputs()) {
    File& file = files_.at(input.name);
    const SourceLine place{info.declaration().source_file, input.line};
    try {
      file.shape = open_input(input.name, file.path, input.type).shape();
    } catch (const RunError& error) {
      throw RunError(place, error.what(), error.code());
    }
    if (file.shape.size() != input.binds.size()) {
      throw RunError(place, "input " + input.name + " has " + std::to_string(input.binds.size()) + " dimensions, but the array in '" + file.path +
                         "' has " + std::to_string(file.shape.size()) + ": shape " + shape_text(file.shape));
    }
  }
  bind_dimensions(info, options);
}

void SessionInputs::look_at_targets(const ProgramInfo& info, const AppOptions& options) {
  const auto look = [](const std::string& path) {
    if (::access(directory_of(path).c_str(), W_OK | X_OK) != 0) fail_file(path, "cannot write", errno);
    struct stat target {};
    if (::stat(path.c_str(), &target) == 0 && !S_ISREG(target.st_mode)) {
      throw RunError("cannot write '" + path + "': it is not a regular file");
    }
  };
  for (const auto& [name, path] : options.outputs) {
    try {
      look(path);
    } catch (const RunError& error) {
      throw RunError(SourceLine{info.declaration().source_file, info.line_of_output(name)}, error.what(), error.code());
    }
  }
}

void SessionInputs::bind_dimensions(const ProgramInfo& info, const AppOptions& options) {
  struct Source {
    Index extent;
    std::string text;
  };
  std::map<std::string, Source> bound;
  for (const auto& [name, extent] : options.dimensions) bound[name] = {extent, "--set " + name + "=" + std::to_string(extent)};
  for (const InputDeclaration& input : info.inputs()) {
    const File& file = files_.at(input.name);
    for (std::size_t d = 0; d < input.binds.size(); ++d) {
      const std::string& name = input.binds[d];
      if (name.empty()) continue;
      const std::string here = "dimension " + std::to_string(d) + " of " + input.name + " ('" + file.path + "')";
      const auto [entry, first] = bound.emplace(name, Source{file.shape[d], here});
      if (first || entry->second.extent == file.shape[d]) continue;
      throw RunError(SourceLine{info.declaration().source_file, input.line},
                     "the inputs disagree about dimension " + name + ": " + here + " has " + std::to_string(file.shape[d]) + ", but " +
                         entry->second.text + (entry->second.text.starts_with("--set") ? " fixes it" : " has " + std::to_string(entry->second.extent)));
    }
  }
  for (const auto& [name, source] : bound) dimensions_.insert_or_assign(name, source.extent);
}

Index SessionInputs::dimension(std::string_view name) const {
  const auto found = dimensions_.find(name);
  TDSL_CHECK(found != dimensions_.end(), "dimension " + std::string(name) + " is bound");
  return found->second;
}

void SessionInputs::require_shape(const std::string& input, const std::vector<Index>& shape, SourceLine place) const {
  const File& file = files_.at(input);
  if (file.shape == shape) return;
  throw ProgramError(place, "input " + input + " should have shape " + shape_text(shape) + ", but the array in '" + file.path +
                                "' has shape " + shape_text(file.shape));
}

const NpyReader& SessionInputs::reader(const std::string& input) {
  const std::scoped_lock lock(mutex_);
  File& file = files_.at(input);
  if (file.reader == nullptr) file.reader = std::make_unique<NpyReader>(file.path);
  return *file.reader;
}

}  // namespace tdsl::rt
