#include "runtime/app/session/series.h"

#include <algorithm>

#include "runtime/base/number_format.h"
#include "runtime/shapes.h"

namespace tdsl::rt {

Series::Series(std::string name, SourceLine place, SeriesLayout layout, std::shared_ptr<RecordFile> file,
               const checkpoint::SavedSeries* saved)
    : name_(std::move(name)), place_(place), layout_(std::move(layout)), file_(std::move(file)) {
  if (saved == nullptr) return;
  records_ = saved->records;
  shown_ = records_ - 1;
  text_ = saved->text;
}

/// Requires the mutex: publications do not overlap.
void Series::count(Index record) {
  later_.insert(record);
  Index complete = records_;
  while (later_.erase(complete) > 0) ++complete;
  if (file_ != nullptr && complete > records_) file_->publish(complete);
  records_ = complete;
}

void Series::complete(Index record) {
  const std::scoped_lock lock(mutex_);
  count(record);
}

void Series::show(Index record, std::string text) {
  const std::scoped_lock lock(mutex_);
  if (record > shown_) {
    shown_ = record;
    text_ = std::move(text);
  }
  count(record);
}

Index Series::records() const {
  const std::scoped_lock lock(mutex_);
  return records_;
}

checkpoint::SavedSeries Series::saved() const {
  const std::scoped_lock lock(mutex_);
  return {name_, records_, text_};
}

std::string Series::summary() const {
  const std::scoped_lock lock(mutex_);
  return series_summary(name_, layout_.type, records_, layout_.record, text_);
}

void SeriesList::add(std::shared_ptr<Series> series) {
  const std::scoped_lock lock(mutex_);
  all_.push_back(std::move(series));
}

std::vector<std::shared_ptr<Series>> SeriesList::all() const {
  const std::scoped_lock lock(mutex_);
  return all_;
}

std::shared_ptr<Series> SeriesList::find(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(all_, [&](const auto& series) { return series->name() == name; });
  return found == all_.end() ? nullptr : *found;
}

std::string SeriesList::kept_records() const {
  std::string text;
  for (const std::shared_ptr<Series>& series : all()) {
    if (series->file() == nullptr) continue;
    text += "`" + series->layout().path + "` holds " +
            counted(static_cast<std::size_t>(series->records()), "complete record") + "\n";
  }
  return text;
}

}  // namespace tdsl::rt
