#include <algorithm>
#include <cmath>

#include "analyzer/text/format.h"
#include "gui/models/steps_table.h"

namespace tapelens::gui {

namespace {

constexpr size_t kFewest = 5;         // steps: a smaller sample has no useful median
constexpr double kFar = 5;            // standard deviations, from the median of the distances
constexpr double kLeastShare = 0.02;  // share of the median: smaller differences do not matter
constexpr size_t kGrowing = 4;        // steps in a row that each end with more bytes than they began with
constexpr int64_t kLeastGrowth = 4096;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<QString> far_peaks(const std::vector<report::Step>& steps) {
  std::vector<QString> out(steps.size());
  std::vector<double> peaks, distances;
  for (const report::Step& step : steps) {
    if (step.complete) peaks.push_back(static_cast<double>(step.peak.value));
  }
  if (peaks.size() < kFewest) return out;
  const double middle = median(peaks);
  for (const double peak : peaks) distances.push_back(std::abs(peak - middle));
  // For a normal distribution, 1.4826 times the median distance is the standard deviation.
  const double far = std::max(kFar * 1.4826 * median(distances), kLeastShare * middle);
  for (size_t i = 0; i < steps.size(); ++i) {
    const double above = static_cast<double>(steps[i].peak.value) - middle;
    if (above <= far) continue;
    const double percent = 100 * above / middle;
    out[i] = QStringLiteral("peak %1 % above the median").arg(percent, 0, 'f', percent < 10 ? 1 : 0);
  }
  return out;
}

std::vector<QString> growths(const std::vector<report::Step>& steps, const std::vector<int64_t>& live) {
  std::vector<QString> out(steps.size());
  for (size_t begin = 1, end = 1; begin < steps.size(); begin = end + 1) {
    for (end = begin; end + 1 < steps.size() && live[end + 1] > live[end];) ++end;
    const int64_t growth = live[end] - live[begin];
    if (end - begin < kGrowing || growth < kLeastGrowth || growth < live[begin] / 1000) continue;
    const QString text =
        QStringLiteral("grows by %1 a step since step %2")
            .arg(QString::fromStdString(text::bytes_text({growth / static_cast<int64_t>(end - begin)})))
            .arg(steps[begin].index);
    for (size_t i = begin + 1; i <= end; ++i) out[i] = text;
  }
  return out;
}

}  // namespace

StandsOut stands_out(const std::vector<report::Step>& steps, const std::vector<int64_t>& live) {
  StandsOut out{far_peaks(steps), growths(steps, live)};
  for (size_t i = 0; i < steps.size(); ++i) out.count += !out.peak[i].isEmpty() || !out.growth[i].isEmpty();
  return out;
}

}  // namespace tapelens::gui
