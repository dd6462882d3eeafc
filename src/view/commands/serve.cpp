// serve: the page and its data over HTTP, read-only.
#include <csignal>
#include <iostream>
#include <thread>

#include "base/text.h"
#include "cli/ranges.h"
#include "view/commands/commands.h"
#include "view/http_server.h"
#include "view/page.h"

namespace assay::view {

namespace {

int run(const cli::Invocation& invocation) {
  if (const auto why = cli::out_of_range(invocation, {{"--port", 0, 65535}}))
    return invocation.refuse_usage(*why);
  const auto port = invocation.u32("--port").value_or(0);
  // Blocked before any thread begins, so that the one thread that waits for them gets them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  SiteOptions options;
  options.host = invocation.text_or("--host", "127.0.0.1");
  auto catalog = Catalog::open(*invocation.text("--store"), default_cache_folder());
  if (!catalog) return invocation.refuse(catalog.refusal(), cli::kInputOutput);
  const auto site = Site::open(*std::move(catalog), embedded_page(), options);
  if (!site) return invocation.refuse(site.refusal(), cli::kInputOutput);
  HttpServer server(**site);
  const auto listening = server.listen(options.host, static_cast<int>(port));
  if (!listening) return invocation.refuse(listening.refusal(), cli::kInputOutput);

  const auto [shards, rows] = (*site)->counts();
  invocation.progress(cat(shards, shards == 1 ? " run, " : " runs, ", rows,
                          rows == 1 ? " row" : " rows", "; ends with Ctrl-C"));
  if (invocation.json()) {
    std::cout << json::write(json::Value::object({{"url", server.url()}, {"port", server.port()}}))
              << std::endl;
  } else {
    std::cout << server.url() << std::endl;
  }
  std::jthread waiter([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    server.stop();
  });
  server.run();
  // run() ends by itself only when the socket failed; the waiter then waits for a signal that this
  // sends.
  ::kill(::getpid(), SIGTERM);
  return cli::kOk;
}

}  // namespace

cli::Command serve_command() {
  return {
      .name = "serve",
      .summary = "Shows a store in the browser: the page and its data over HTTP, read-only.",
      .example = "assay-view serve --store file://out/results",
      .flags = {{.names = {"--store"},
                 .value_name = "URL",
                 .help = "What to show: file://DIR, s3://BUCKET/PREFIX, hf://datasets/OWNER/NAME.",
                 .required = true},
                {.names = {"--port"},
                 .value_name = "N",
                 .help = "Port to listen at; 0 (default) takes a free one.",
                 .type = cli::Type::u32},
                {.names = {"--host"},
                 .value_name = "ADDRESS",
                 .help = "Address to listen at; default 127.0.0.1, this machine alone."}},
      .run = run,
      .notes =
          "stdout: the URL, one line, when it answers. Ends with Ctrl-C, exit 0. Facts of shards "
          "are "
          "kept in\n$XDG_CACHE_HOME/assay/view, which may be deleted. Exit: 0 ok, 2 usage, 3 the "
          "store or the address\ncannot be used."};
}

}  // namespace assay::view
