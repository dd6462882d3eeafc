// export: a store as files that need no server.
#include <iostream>

#include "base/text.h"
#include "cli/ranges.h"
#include "view/commands/commands.h"
#include "view/export.h"
#include "view/page.h"

namespace assay::view {

namespace {

int run(const cli::Invocation& invocation) {
  const std::vector<std::string>& targets = invocation.arguments("TARGET");
  if (targets.empty() != invocation.has("--output")) {
    return invocation.refuse_usage(targets.empty()
                                       ? "nothing to write to: expected NAME.html or a folder"
                                       : cat("two targets, `", targets.front(), "` and `",
                                             *invocation.text("--output"), "`: expected one"));
  }
  ExportOptions options;
  options.target = targets.empty() ? *invocation.text("--output") : targets.front();
  options.title = invocation.text_or("--title", "");
  options.force = invocation.has("--force");
  options.shards_max = invocation.u64("--max-shards");
  if (const auto why = cli::out_of_range(invocation, {{"--max-shards", 1, INT32_MAX}}))
    return invocation.refuse_usage(*why);
  auto catalog = Catalog::open(*invocation.text("--store"), default_cache_folder());
  if (!catalog) return invocation.refuse(catalog.refusal(), cli::kInputOutput);
  const auto done = export_store(*catalog, embedded_page(), options);
  if (!done) return invocation.refuse(done.refusal(), cli::kInputOutput);
  if (!catalog->cache_remark().empty())
    invocation.progress(cat("warning: the cache was not written: ", catalog->cache_remark()));
  invocation.progress(cat(
      done->runs, done->runs == 1 ? " run, " : " runs, ", done->size_bytes, " bytes",
      done->left_out > 0 ? cat("; ", done->left_out,
                               done->left_out == 1 ? " older run left out" : " older runs left out")
                         : "",
      done->problems > 0 ? cat("; ", done->problems,
                               done->problems == 1 ? " problem, named on the page"
                                                   : " problems, named on the page")
                         : ""));
  if (invocation.json()) {
    std::cout << json::write(
                     json::Value::object({{"output", options.target.string()},
                                          {"runs", static_cast<uint64_t>(done->runs)},
                                          {"left_out", static_cast<uint64_t>(done->left_out)},
                                          {"problems", static_cast<uint64_t>(done->problems)},
                                          {"size_bytes", done->size_bytes}}))
              << "\n";
  } else {
    std::cout << options.target.string() << "\n";
  }
  return cli::kOk;
}

}  // namespace

cli::Command export_command() {
  return {
      .name = "export",
      .summary = "Writes a store as one HTML file, or as a folder for any web server.",
      .example = "assay-view export results.html --store file://out/results",
      .flags = {{.names = {"--store"},
                 .value_name = "URL",
                 .help = "What to show: file://DIR, s3://BUCKET/PREFIX, hf://datasets/OWNER/NAME.",
                 .required = true},
                {.names = {"--output", "-o"},
                 .value_name = "TARGET",
                 .help = "The same as the argument TARGET."},
                {.names = {"--force"},
                 .arity = cli::Arity::toggle,
                 .help = "Write over a file that no export wrote; a folder never is."},
                {.names = {"--title"}, .value_name = "TEXT", .help = "Title of the page."},
                {.names = {"--max-shards"},
                 .value_name = "N",
                 .help = "Only the N newest runs; the page says how many were left out.",
                 .type = cli::Type::u64}},
      .positionals = {{.name = "TARGET",
                       .help = "NAME.html: one file that works offline. Anything else: a folder.",
                       .required = false}},
      .run = run,
      .notes =
          "stdout: what was written. The same store gives the same bytes. Exit: 0 ok, 2 usage, "
          "3 the store or the\ntarget cannot be used."};
}

cli::Program view_program() {
  return {.name = "assay-view",
          .summary = "Shows a store of results: in the browser, or as files.",
          .commands = {serve_command(), export_command()},
          .versions = {{"index format", "assay-view-1"}}};
}

}  // namespace assay::view
