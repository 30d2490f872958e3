// The comparison as JSON, with all ranks and all lists in full; docs/ranks.md explains the keys.
#include "analyzer/ranks/renderings.h"
#include "analyzer/text/json.h"

namespace tapelens::ranks {

namespace {

using text::Json;

constexpr int kSchemaVersion = 1;
constexpr const char* kOutlierNames[] = {"peak", "category", "reserved", "steps"};

Json rank_number(const RankSummary& rank) { return rank.rank >= 0 ? Json(rank.rank) : Json(nullptr); }

Json mesh_json(const RankSummary& rank) {
  return rank.mesh_coordinate.empty() ? Json(nullptr) : Json(rank.mesh_coordinate);
}

Json by_category(const DeviceSummary& device) {
  Json out = Json::object();
  for (const Sum& sum : device.by[static_cast<size_t>(By::category)].rows) out[sum.key] = sum.bytes.value;
  return out;
}

Json ended_badly_json(const Job& job) {
  Json out = Json::array();
  for (const auto& [rank, why] : job.ended_badly) {
    Json memory = nullptr;
    if (const auto& last = rank.summary.last_out_of_memory) {
      memory = {{"device", last->device}, {"bytes", last->bytes.value}, {"step", last->step},
                {"operator", last->op},   {"module", last->module},     {"source", last->source}};
    }
    out.push_back({{"rank", rank_number(rank.summary)},
                   {"host", rank.summary.host},
                   {"mesh_coordinate", mesh_json(rank.summary)},
                   {"pid", rank.summary.pid},
                   {"file", rank.file},
                   {"finished", rank.summary.finished},
                   {"running", rank.summary.running},
                   {"exit_code", rank.summary.exit_code ? Json(*rank.summary.exit_code) : Json(nullptr)},
                   {"end_ns", rank.summary.end_ns},
                   {"out_of_memory", rank.summary.out_of_memory},
                   {"last_out_of_memory", std::move(memory)},
                   {"why", why}});
  }
  return out;
}

// `other`: key of the bytes of the median rank, or of the other rank of two.
Json reasons_json(const std::vector<Reason>& reasons, const char* other) {
  Json out = Json::array();
  for (const Reason& reason : reasons) {
    out.push_back({{"by", kByNames[static_cast<size_t>(reason.by)]},
                   {"key", reason.key},
                   {"bytes", reason.here.value},
                   {other, reason.median.value}});
  }
  return out;
}

Json two_ranks_json(const Job& job) {
  if (!job.larger_of_two) return nullptr;
  const Outlier& larger = *job.larger_of_two;
  return {{"larger", rank_number(job.ranks[larger.rank].summary)},
          {"difference_bytes", larger.here - larger.median},
          {"why", two_ranks_text(job)},
          {"reasons", reasons_json(larger.reasons, "other_bytes")}};
}

Json outliers_json(const Job& job) {
  Json out = Json::array();
  for (const Outlier& one : job.outliers) {
    out.push_back({{"rank", rank_number(job.ranks[one.rank].summary)},
                   {"host", job.ranks[one.rank].summary.host},
                   {"mesh_coordinate", mesh_json(job.ranks[one.rank].summary)},
                   {"file", job.ranks[one.rank].file},
                   {"of", kOutlierNames[static_cast<size_t>(one.of)]},
                   {"category", one.category.empty() ? Json(nullptr) : Json(one.category)},
                   {"here", one.here},
                   {"median", one.median},
                   {"robust_z", one.z ? Json(*one.z) : Json(nullptr)},
                   {"why", outlier_text(job, one)},
                   {"reasons", reasons_json(one.reasons, "median_bytes")}});
  }
  return out;
}

Json ranks_json_of(const Job& job) {
  Json out = Json::array();
  for (const Rank& rank : job.ranks) {
    const DeviceSummary& device = rank.device();
    out.push_back({{"rank", rank_number(rank.summary)},
                   {"host", rank.summary.host},
                   {"mesh_coordinate", mesh_json(rank.summary)},
                   {"pid", rank.summary.pid},
                   {"file", rank.file},
                   {"device", device.device},
                   {"peak_bytes", device.peak.value},
                   {"reserved_peak_bytes", device.reserved_peak ? Json(device.reserved_peak->value) : Json(nullptr)},
                   {"peak_step", device.peak_step},
                   {"peak_phase", device.peak_phase},
                   {"by_category", by_category(device)},
                   {"steps", rank.summary.steps},
                   {"end", end_text(rank.summary)},
                   {"lost", rank.summary.lost}});
  }
  return out;
}

Json findings_json(const Job& job) {
  Json out = Json::array();
  for (const SharedFinding& one : job.findings) {
    Json ranks = Json::array();
    for (const size_t place : one.ranks) ranks.push_back(rank_number(job.ranks[place].summary));
    out.push_back({{"id", one.finding.id},
                   {"check", one.finding.check},
                   {"severity", one.finding.severity},
                   {"title", one.finding.title},
                   {"module", one.finding.module},
                   {"field", one.finding.field},
                   {"source", one.finding.source},
                   {"median_bytes", one.median.value},
                   {"most_bytes", one.most.value},
                   {"ranks", std::move(ranks)}});
  }
  return out;
}

}  // namespace

std::string ranks_json(const Job& job, const text::Style&) {
  Json categories = Json::array(), missing = Json::array(), left_out = Json::array();
  for (const CategoryRange& range : job.categories) {
    categories.push_back({{"name", range.category},
                          {"least_bytes", range.least.value},
                          {"median_bytes", range.median.value},
                          {"most_bytes", range.most.value}});
  }
  for (const auto& [first, last] : job.missing) missing.push_back(Json::array({first, last}));
  for (const RankFile& source : job.left_out) left_out.push_back({{"file", source.file}, {"why", source.why}});
  return text::dumped(
      {{"schema_version", kSchemaVersion},
       {"command", job.command},
       {"torch_version", job.torch_version},
       {"simulated_gpu", job.simulated_gpu.empty() ? Json(nullptr) : Json(job.simulated_gpu)},
       {"device_type", job.device_type},
       {"hosts", job.hosts},
       {"peak", {{"least_bytes", job.least.value}, {"median_bytes", job.median.value}, {"most_bytes", job.most.value}}},
       {"by_category", std::move(categories)},
       {"ended_badly", ended_badly_json(job)},
       {"expected_ranks", job.expected},
       {"missing_ranks", job.missing_count},
       {"missing", std::move(missing)},
       {"two_ranks", two_ranks_json(job)},
       {"outliers", outliers_json(job)},
       {"envelope",
        {{"exponent", job.envelope.exponent},
         {"first", job.envelope.first},
         {"least", job.envelope.least},
         {"median", job.envelope.median},
         {"most", job.envelope.most}}},
       {"findings", findings_json(job)},
       {"findings_unknown", job.findings_unknown},
       {"ranks", ranks_json_of(job)},
       {"left_out", std::move(left_out)},
       {"remarks", remarks_of(job)}});
}

}  // namespace tapelens::ranks
