#include "runtime/app/memory/spill.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "runtime/base/number_format.h"
#include "runtime/disk/spill_file.h"

namespace tdsl::rt {

namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    text += (k == 0 ? "" : k + 1 == names.size() ? " and " : ", ") + names[k];
  return text;
}

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); }

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text.data();
}

}  // namespace

SpillPlace spill_place(const std::optional<std::string>& asked, const std::vector<std::string>& folders) {
  if (asked && *asked == "none") return {"", "--spill none forbids it", false};
  if (asked)
    return {
        *asked,
        ::access(asked->c_str(), W_OK | X_OK) == 0 ? "" : "no files can be made in " + *asked + ", which --spill names",
        true};
  std::string trouble;
  for (const std::string& folder : folders) {
    if (folder.empty()) continue;
    const std::string here = ::access(folder.c_str(), W_OK | X_OK) != 0 ? "cannot be written" : unfit_to_spill(folder);
    if (here.empty()) return {folder, "", false};
    trouble += (trouble.empty() ? "" : ", ") + folder + " " + here;
  }
  return {"", (trouble.empty() ? "no folder is known" : trouble) + " (--spill DIR names another folder)", false};
}

std::string homes_text(const plan::FoundHomes& homes, const std::string& folder, const plan::Machine& machine) {
  std::vector<std::string> disk, file;
  for (const plan::MovedTensor& tensor : homes.tensors) {
    (tensor.housing.home == plan::Home::kFile ? file : disk)
        .push_back("`" + tensor.name + "` (" + bytes_text(tensor.bytes) + ")");
  }
  std::string text;
  if (!disk.empty())
    text += listed(disk) + (disk.size() > 1 ? " lie" : " lies") + " on disk in " +
            (folder.empty() ? "a folder that --spill names" : folder);
  if (!file.empty())
    text +=
        (text.empty() ? "" : ", ") + listed(file) + (file.size() > 1 ? " stay in their files" : " stays in its file");
  text += ", because memory is too small: a rank reads " + bytes_text(homes.read) + " and writes " +
          bytes_text(homes.written) + ", about " + seconds_text(homes.disk_seconds) + " at " +
          bytes_text(machine.disk_read_rate) + "/s and " + bytes_text(machine.disk_write_rate) + "/s";
  if (homes.saved > 0) text += "; a checkpoint reads up to " + bytes_text(homes.saved) + " besides";
  return text;
}

}  // namespace tdsl::rt
