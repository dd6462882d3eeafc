// site: a folder that assay-view exported, onto a hub's space.
#include <iostream>

#include "base/files.h"
#include "base/text.h"
#include "publish/commands/commands.h"
#include "publish/commands/log.h"
#include "publish/hub_folder.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

int run(const cli::Invocation& invocation) {
  const Log log(invocation);
  const std::filesystem::path folder = invocation.arguments("FOLDER").front();
  const std::string url = cat("hf://spaces/", invocation.text_or("--space", ""));
  if (!std::filesystem::is_regular_file(folder / "index.html")) {
    return log.refuse(
        Refusal(kStoreWrite, cat("`", folder.string(), "` has no index.html: it is no page")),
        kExitInput);
  }
  if (invocation.has("--dry-run")) {
    log.info(cat("dry run: ", folder.string(), " would go to ", url, "; nothing was sent"));
    return cli::kOk;
  }
  StoreOptions options{.for_writing = true, .create_pr = invocation.has("--create-pr")};
  options.say = [&log](std::string_view text) { log.warning(text); };
  if (const auto path = invocation.text("--token-file")) {
    const auto bytes = read_file(*path, 4096);
    if (!bytes) return log.refuse(bytes.refusal(), kExitInput);
    options.token = std::string(trim(*bytes));
  }
  const auto done = upload_folder(url, folder, "Update the page of results", options);
  if (!done) return log.refuse(done.refusal(), kExitPublish);
  log.info(done->changed + done->removed == 0
               ? cat(url, " has these ", done->files, " files already")
               : cat(done->changed, " of ", done->files, " files sent to ", url,
                     done->removed == 0 ? "" : cat(", ", done->removed, " earlier ones removed")));
  if (!done->pull_request.empty()) log.info(cat("pull request: ", done->pull_request));
  std::cout << url << "\n";
  return cli::kOk;
}

}  // namespace

cli::Command site_command() {
  using cli::Arity;
  std::vector<cli::Flag> flags = {{.names = {"--space"},
                                   .value_name = "OWNER/NAME",
                                   .help = "The space, of kind static, that serves the page.",
                                   .required = true},
                                  {.names = {"--create-pr"},
                                   .arity = Arity::toggle,
                                   .help = "Open a pull request instead of committing."},
                                  {.names = {"--token-file"},
                                   .value_name = "FILE",
                                   .help = "The token, instead of the environment's."},
                                  {.names = {"--dry-run"},
                                   .arity = Arity::toggle,
                                   .help = "Checks the folder; opens no connection."}};
  for (cli::Flag& flag : log_flags()) flags.push_back(std::move(flag));
  return {.name = "site",
          .summary = "Puts a folder that assay-view exported onto a hub's space, in one commit.",
          .example = "assay-publish site out/site --space OWNER/NAME",
          .flags = std::move(flags),
          .positionals = {{.name = "FOLDER", .help = "The exported folder."}},
          .run = run,
          .notes =
              "Files that an earlier site brought and this one lacks are removed; others stay.\n"
              "Exit: 0 ok (also when nothing changed), 2 usage or no page, 4 the hub failed."};
}

}  // namespace assay::publish
