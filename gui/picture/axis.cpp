#include "gui/picture/axis.h"

#include <cmath>

namespace tapelens::picture {

Interval inside(Interval shown, Time whole) {
  const int64_t most = std::max(whole.ns, kLeastShown);
  const int64_t length = std::clamp(shown.end.ns - shown.begin.ns, kLeastShown, most);
  const int64_t begin = std::clamp(shown.begin.ns, int64_t{0}, most - length);
  return {Time{begin}, Time{begin + length}};
}

Interval zoomed(const TimeAxis& axis, double x, double factor, Time whole) {
  const double length = static_cast<double>(axis.shown.end.ns - axis.shown.begin.ns);
  const double wanted = std::clamp(length / factor, static_cast<double>(kLeastShown),
                                   static_cast<double>(std::max(whole.ns, kLeastShown)));
  const double at = static_cast<double>(axis.shown.begin.ns) + length * x / axis.width;
  const auto begin = std::llround(at - wanted * x / axis.width);
  return inside({Time{begin}, Time{begin + std::llround(wanted)}}, whole);
}

Interval panned(const TimeAxis& axis, double pixels, Time whole) {
  const auto by = std::llround(pixels * axis.ns_per_pixel());
  return inside({Time{axis.shown.begin.ns + by}, Time{axis.shown.end.ns + by}}, whole);
}

Ticks ticks(const TimeAxis& axis, int least_apart) {
  const double least = axis.ns_per_pixel() * std::max(1, least_apart);
  int64_t every = 1;
  for (int64_t ten = 1; static_cast<double>(every) < least; ten *= 10) {
    for (const int64_t part : {1, 2, 5, 10}) {
      every = ten * part;
      if (static_cast<double>(every) >= least) break;
    }
  }
  const int64_t first = (axis.shown.begin.ns + every - 1) / every * every;
  return {first, every};
}

}  // namespace tapelens::picture
