#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "cli/output.h"

namespace tapelens::cli {
namespace {

using trace::OutputKind;

constexpr size_t kHead = 4096;

// A JSON object that starts with these keys, as the renderings write it: one key a line, indented by two blanks. Line
// breaks in texts are escaped, so no text can look like a key.
OutputKind json_kind(std::string name, std::initializer_list<std::string_view> keys) {
  std::vector<std::string> all(keys.begin(), keys.end());
  OutputKind kind{.name = std::move(name), .begins = "{\n  \"" + all.front() + "\": ", .ends = "\n}\n"};
  kind.is_ours = [keys = std::move(all)](std::string_view content) {
    constexpr std::string_view kKey = "\n  \"";
    size_t at = 0;
    for (const std::string& key : keys) {
      at = content.find(kKey, at);
      if (at == std::string_view::npos) return false;
      at += kKey.size();
      if (!content.substr(at).starts_with(key + "\": ")) return false;
    }
    return true;
  };
  return kind;
}

bool is_html(std::string_view head, const std::string& title) {
  return head.find("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ") !=
             std::string_view::npos &&
         head.find("\n<title>" + title + "</title>\n") != std::string_view::npos;
}

OutputKind sarif_kind(std::string name, bool is_of_check) {
  OutputKind kind = json_kind(std::move(name), {"$schema", "version", "runs"});
  kind.is_ours = [keys = kind.is_ours, is_of_check](std::string_view content) {
    if (!keys(content)) return false;
    const size_t driver = content.find("\"driver\": {\n");
    const std::string_view head = content.substr(driver == std::string_view::npos ? content.size() : driver, 256);
    const bool is_check = content.find("\"id\": \"memory-budget\"") != std::string_view::npos;
    return head.find("\"name\": \"Tapelens\",\n") != std::string_view::npos && is_check == is_of_check;
  };
  return kind;
}

struct Noun {
  std::string_view command, noun;
};
constexpr std::array<Noun, 8> kNouns = {{{"report", "report"},
                                         {"advise", "advice"},
                                         {"diff", "diff"},
                                         {"ranks", "summary of ranks"},
                                         {"check", "result of check"},
                                         {"verify", "result of verify"},
                                         {"fit", "result of fit"},
                                         {"budget", "result of budget"}}};

OutputKind json_of(std::string_view command, std::string name) {
  if (command == "report") return json_kind(std::move(name), {"schema_version", "recording", "processes", "peak"});
  if (command == "advise") return json_kind(std::move(name), {"schema_version", "recording", "process", "device"});
  if (command == "diff") {
    return json_kind(std::move(name), {"schema_version", "version", "devices", "new_findings", "gone_findings"});
  }
  if (command == "ranks") {
    return json_kind(std::move(name), {"schema_version", "command", "torch_version", "simulated_gpu", "device_type"});
  }
  if (command == "check") {
    return json_kind(std::move(name), {"schema_version", "version", "passed", "complete", "has_baseline", "checks"});
  }
  if (command == "verify") {
    return json_kind(std::move(name), {"verdict", "identical", "deterministic", "first_difference", "rounding"});
  }
  if (command == "fit") {
    return json_kind(std::move(name), {"schema_version", "command", "steps", "interrupted", "series"});
  }
  return json_kind(std::move(name), {"schema_version", "command", "steps", "stopped", "device", "compared_with"});
}

}  // namespace

OutputKind result_kind(std::string_view command, std::string_view format) {
  std::string noun(command);
  for (const Noun& one : kNouns) {
    if (one.command == command) noun = one.noun;
  }
  std::string name = std::string(format) + " " + noun;
  if (format == "json") return json_of(command, std::move(name));
  if (format == "sarif") return sarif_kind(std::move(name), command == "check");
  if (format == "html") {
    const std::string title = command == "diff" ? "Tapelens diff" : "Tapelens";
    return {.name = std::move(name),
            .begins = "<!doctype html>\n",
            .is_ours = [title](std::string_view head) { return is_html(head, title); },
            .looks_at = kHead};
  }
  const std::string by = "Written by tapelens " + std::string(command);
  if (format == "junit") {
    return {.name = std::move(name),
            .begins = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"",
            .is_ours =
                [](std::string_view head) {
                  return head.find(">\n  <testsuite name=\"tapelens check\" tests=\"") != std::string_view::npos;
                },
            .looks_at = kHead};
  }
  if (format == "markdown") return trace::marked_kind(std::move(name), "\n<!-- " + by + " -->\n");
  return trace::marked_kind(std::move(name),
                            "\n" + by + (format == "text" ? "" : " for " + std::string(format)) + "\n");
}

OutputKind baseline_kind() { return {.name = "baseline", .begins = "{\n\"format\": \"tapelens baseline\",\n"}; }

OutputKind plan_kind() { return json_kind("plan", {"tapelens_plan", "torch", "command", "sites"}); }

OutputKind manual_kind(const std::string& title) { return {.name = "manual page", .begins = ".TH " + title + " 1 "}; }

OutputKind log_kind(const std::string& log, const std::string& recording) {
  OutputKind kind{.name = "log of a run"};
  kind.is_ours = [log, recording](std::string_view) {
    return trace::is_of_kind(log, trace::marked_kind("", std::string(kNoRecording))) ||
           trace::is_of_kind(recording, trace::recording_kind());
  };
  kind.looks_at = 0;
  return kind;
}

}  // namespace tapelens::cli
