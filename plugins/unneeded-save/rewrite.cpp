// Drops saves that no wanted gradient needs, by the rows "never" of the table of needs.
#include "profiler/rewrite/rewrite.h"

#include <algorithm>
#include <optional>

#include "plugins/unneeded-save/rule.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/stand_in.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::rewrite {
namespace {

using namespace plugins::unneeded_save;

class UnneededSave final : public Rewrite {
 public:
  UnneededSave() : table_(needs_of(TORCH_VERSION)), rows_(table_.value_or(std::span<const Need>())) {}

  RewriteInfo info() const override { return kRewrite; }
  bool is_for(c10::DeviceType device) const override { return is_cpu_or_has_streams(device); }
  bool may_match(std::string_view type, std::string_view field) const override {
    return !needs_of(rows_, type, field).empty();
  }
  bool matches(const Save& save) const override {
    const bool on_cuda = save.tensor.is_cuda();
    return std::ranges::any_of(needs_of(rows_, save.type, save.field),
                               [&](const Need& need) {
                                 return (!on_cuda || need.on_cuda) && holds(need, save.wanted, save.attributes);
                               }) &&
           StandIn::has_room(save.tensor.device(), save.tensor.storage().nbytes());
  }
  void install(const OperatorHost&) const override {
    if (!table_) skipped(kRewrite.id, kRewrite.level, {}, "Tapelens has no table of needs for this PyTorch", 0);
  }
  std::unique_ptr<Encoding> encode(const Save& save) const override {
    return std::make_unique<StandIn>(save.tensor, settings().poison);
  }

 private:
  const std::optional<std::span<const Need>> table_;
  const std::span<const Need> rows_;
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::UnneededSave)
