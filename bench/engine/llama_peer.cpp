#include "bench/engine/llama_peer.h"

#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "base/text.h"
#include "bench/engine/refusals.h"

namespace assay::bench {
namespace {

using llama::ContextParams;
using llama::ModelParams;
using llama::ThreadpoolParams;

// Bytes that a defaults function really wrote: the buffer is filled with a mark first. Padding
// inside the struct may keep the mark; the end may not reach beyond our declaration.
constexpr unsigned char kMark = 0xAA;
constexpr size_t kProbeSize = 1024;

size_t written_extent(const unsigned char (&buffer)[kProbeSize]) {
  size_t end = kProbeSize;
  while (end > 0 && buffer[end - 1] == kMark) --end;
  return (end + 7) / 8 * 8;
}

template <class T, class Fill>
Result<T> probed_defaults(std::string_view name, size_t alignment, Fill fill) {
  alignas(16) unsigned char buffer[kProbeSize];
  std::memset(buffer, kMark, sizeof buffer);
  fill(buffer);
  const size_t extent = written_extent(buffer) / alignment * alignment;
  if (extent != sizeof(T)) {
    return Refusal(kPeerLayout, cat(name, " is ", extent, " bytes there, ", sizeof(T), " here"));
  }
  T value;
  std::memcpy(&value, buffer, sizeof value);
  return value;
}

bool known_model_defaults(const ModelParams& p) {
  return !p.devices && !p.tensor_buffer_overrides && p.n_gpu_layers == -1 && p.split_mode == 1 &&
         p.load_mode == llama::kLoadAuto && p.main_gpu == 0 && !p.tensor_split &&
         !p.progress_callback && !p.kv_overrides && !p.vocab_only && !p.check_tensors &&
         p.use_extra_buffers && !p.no_host && !p.no_alloc;
}

bool known_context_defaults(const ContextParams& p) {
  return p.n_ctx == 512 && p.n_batch == 2048 && p.n_ubatch == 512 && p.n_seq_max == 1 &&
         p.n_threads == 4 && p.n_threads_batch == 4 && p.rope_scaling_type == -1 &&
         p.pooling_type == -1 && p.attention_type == -1 && p.flash_attention == llama::kFlashAuto &&
         p.rope_freq_base == 0 && p.yarn_ext_factor == -1 && p.defrag_threshold == -1 &&
         !p.eval_callback && p.type_k == llama::kTypeF16 && p.type_v == llama::kTypeF16 &&
         !p.abort_callback && !p.embeddings && p.offload_kqv && p.no_perf && p.op_offload &&
         p.swa_full && !p.kv_unified && !p.samplers && p.n_samplers == 0 && !p.other_context;
}

Status check_layout(const llama::Api& api) {
  TRY(model, (probed_defaults<ModelParams>("llama_model_params", 8, api.model_default_params)));
  TRY(context,
      (probed_defaults<ContextParams>("llama_context_params", 8, api.context_default_params)));
  TRY(pool,
      (probed_defaults<ThreadpoolParams>("ggml_threadpool_params", 8, [&](unsigned char* out) {
        api.threadpool_params_default(out, 3);
      })));
  if (!known_model_defaults(model)) return Refusal(kPeerLayout, "llama_model_params: defaults");
  if (!known_context_defaults(context)) {
    return Refusal(kPeerLayout, "llama_context_params: defaults");
  }
  if (pool.n_threads != 3 || pool.priority != 0 || pool.poll != 50 || pool.strict_cpu ||
      pool.paused) {
    return Refusal(kPeerLayout, "ggml_threadpool_params: defaults");
  }
  return {};
}

Result<void*> open_one(const std::filesystem::path& folder, std::string_view prefix) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || name.find(".so") == std::string::npos) continue;
    // Lazy binding: the C++ runtime of the build may be newer in corners that are never called.
    if (void* handle = dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_GLOBAL)) return handle;
    return Refusal(kPeerUnreadable, dlerror());
  }
  return Refusal(kPeerUnreadable, cat("no ", prefix, "*.so in ", folder.string()));
}

template <class F>
Status bind(void* handle, const char* name, F& function) {
  void* symbol = dlsym(handle, name);
  if (!symbol) return Refusal(kPeerUnreadable, cat("no function ", name));
  static_assert(sizeof symbol == sizeof function);
  std::memcpy(&function, &symbol, sizeof symbol);
  return {};
}

Status bind_llama(void* handle, llama::Api& api) {
  TRY_DO(bind(handle, "llama_version", api.version));
  TRY_DO(bind(handle, "llama_backend_init", api.backend_init));
  TRY_DO(bind(handle, "llama_log_set", api.log_set));
  TRY_DO(bind(handle, "llama_model_default_params", api.model_default_params));
  TRY_DO(bind(handle, "llama_context_default_params", api.context_default_params));
  TRY_DO(bind(handle, "llama_model_load_from_file", api.model_load_from_file));
  TRY_DO(bind(handle, "llama_model_free", api.model_free));
  TRY_DO(bind(handle, "llama_init_from_model", api.init_from_model));
  TRY_DO(bind(handle, "llama_free", api.free));
  TRY_DO(bind(handle, "llama_model_get_vocab", api.model_get_vocab));
  TRY_DO(bind(handle, "llama_vocab_n_tokens", api.vocab_n_tokens));
  TRY_DO(bind(handle, "llama_tokenize", api.tokenize));
  TRY_DO(bind(handle, "llama_get_memory", api.get_memory));
  TRY_DO(bind(handle, "llama_memory_clear", api.memory_clear));
  TRY_DO(bind(handle, "llama_batch_init", api.batch_init));
  TRY_DO(bind(handle, "llama_batch_free", api.batch_free));
  TRY_DO(bind(handle, "llama_decode", api.decode));
  TRY_DO(bind(handle, "llama_get_logits_ith", api.get_logits_ith));
  TRY_DO(bind(handle, "llama_set_n_threads", api.set_n_threads));
  TRY_DO(bind(handle, "llama_attach_threadpool", api.attach_threadpool));
  return {};
}

Status bind_ggml(void* base, void* ggml, llama::Api& api) {
  TRY_DO(bind(base, "ggml_threadpool_params_default", api.threadpool_params_default));
  TRY_DO(bind(base, "ggml_backend_reg_name", api.backend_reg_name));
  TRY_DO(bind(base, "ggml_backend_reg_get_proc_address", api.backend_reg_get_proc_address));
  TRY_DO(bind(ggml, "ggml_backend_load_all_from_path", api.backend_load_all_from_path));
  TRY_DO(bind(ggml, "ggml_backend_reg_count", api.backend_reg_count));
  TRY_DO(bind(ggml, "ggml_backend_reg_get", api.backend_reg_get));
  return {};
}

// Thread pool functions live in the chosen CPU library, reached through its registry entry.
Status bind_cpu(llama::Api& api) {
  for (size_t i = 0; i < api.backend_reg_count(); ++i) {
    llama::Registry* registry = api.backend_reg_get(i);
    if (std::string_view(api.backend_reg_name(registry)) != "CPU") continue;
    const auto get = [&](const char* name, auto& function) -> Status {
      void* symbol = api.backend_reg_get_proc_address(registry, name);
      if (!symbol) return Refusal(kPeerUnreadable, cat("no function ", name));
      std::memcpy(&function, &symbol, sizeof symbol);
      return {};
    };
    TRY_DO(get("ggml_threadpool_new", api.threadpool_new));
    TRY_DO(get("ggml_threadpool_free", api.threadpool_free));
    return {};
  }
  return Refusal(kPeerUnreadable, "it found no CPU library that this machine can run");
}

// The CPU library it chose is the one that is mapped now: "…/libggml-cpu-haswell.so".
std::string mapped_cpu_library() {
  constexpr std::string_view kPrefix = "/libggml-cpu-";
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (const size_t at = line.rfind(kPrefix); at != std::string::npos) return line.substr(at + 1);
  }
  return {};
}

void drop_log(int /*level*/, const char* /*text*/, void* /*data*/) {}

}  // namespace

Result<const LlamaLibrary*> LlamaLibrary::open(const std::filesystem::path& folder) {
  static LlamaLibrary library;  // one per process, never closed: the peer registers global state
  llama::Api& api = library.api_;
  TRY(base, open_one(folder, "libggml-base."));
  TRY(ggml, open_one(folder, "libggml."));
  TRY(main, open_one(folder, "libllama."));
  TRY_DO(bind_llama(main, api));
  TRY_DO(bind_ggml(base, ggml, api));
  TRY_DO(check_layout(api));
  api.log_set(drop_log, nullptr);
  api.backend_load_all_from_path(folder.c_str());
  TRY_DO(bind_cpu(api));
  const std::string cpu_library = mapped_cpu_library();
  void* cpu = dlopen((folder / cpu_library).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!cpu) return Refusal(kPeerUnreadable, cat("which CPU library it chose is unknown"));
  TRY_DO(bind(cpu, "ggml_threadpool_pause", api.threadpool_pause));
  TRY_DO(bind(cpu, "ggml_threadpool_resume", api.threadpool_resume));
  constexpr size_t kPrefixSize = sizeof("libggml-cpu-") - 1;
  library.cpu_variant_ = cpu_library.substr(kPrefixSize, cpu_library.find(".so") - kPrefixSize);
  api.backend_init();
  const LlamaLibrary* opened = &library;
  return opened;
}

LlamaPeer::LlamaPeer(const LlamaLibrary& library, const PeerOptions& options)
    : library_(library), options_(options) {}

Result<std::unique_ptr<LlamaPeer>> LlamaPeer::load(const LlamaLibrary& library,
                                                   const std::filesystem::path& model,
                                                   const PeerOptions& options) {
  const llama::Api& api = library.api();
  std::unique_ptr<LlamaPeer> peer(new LlamaPeer(library, options));

  TRY(model_params,
      (probed_defaults<ModelParams>("llama_model_params", 8, api.model_default_params)));
  model_params.load_mode = llama::kLoadMmap;
  model_params.n_gpu_layers = 0;
  peer->model_ = api.model_load_from_file(model.c_str(), model_params);
  if (!peer->model_) return Refusal(kPeerFailed, cat("it cannot load ", model.string()));

  TRY(params,
      (probed_defaults<ContextParams>("llama_context_params", 8, api.context_default_params)));
  params.n_ctx = static_cast<uint32_t>(options.n_ctx);
  params.n_batch = static_cast<uint32_t>(options.n_ctx);
  params.n_ubatch = 512;
  params.flash_attention = options.flash_attention ? llama::kFlashOn : llama::kFlashOff;
  if (options.f32_cache) params.type_k = params.type_v = llama::kTypeF32;
  peer->context_ = api.init_from_model(peer->model_, params);
  if (!peer->context_) return Refusal(kPeerFailed, "it cannot make a context");

  peer->batch_ = api.batch_init(options.n_ctx, 0, 1);
  peer->n_vocab_ = api.vocab_n_tokens(api.model_get_vocab(peer->model_));
  TRY_DO(peer->set_threads(1));
  return peer;
}

LlamaPeer::~LlamaPeer() {
  const llama::Api& api = library_.api();
  drop_pool();
  if (batch_.token) api.batch_free(batch_);
  if (context_) api.free(context_);
  if (model_) api.model_free(model_);
}

void LlamaPeer::drop_pool() {
  if (!pool_) return;
  library_.api().attach_threadpool(context_, nullptr, nullptr);
  library_.api().threadpool_free(pool_);
  pool_ = nullptr;
}

std::string LlamaPeer::variant() const {
  return cat(library_.cpu_variant(), ", flash attention ", options_.flash_attention ? "on" : "off");
}

Status LlamaPeer::set_threads(int threads) {
  const llama::Api& api = library_.api();
  drop_pool();
  TRY(params,
      (probed_defaults<ThreadpoolParams>("ggml_threadpool_params", 8, [&](unsigned char* out) {
        api.threadpool_params_default(out, threads);
      })));
  pool_ = api.threadpool_new(&params);
  if (!pool_) return Refusal(kPeerFailed, "it cannot make a thread pool");
  api.attach_threadpool(context_, pool_, pool_);
  api.set_n_threads(context_, threads, threads);
  resting_ = false;
  return {};
}

Status LlamaPeer::reset() {
  wake();
  library_.api().memory_clear(library_.api().get_memory(context_), false);
  position_ = 0;
  return {};
}

void LlamaPeer::wake() {
  if (resting_) library_.api().threadpool_resume(pool_);
  resting_ = false;
}

void LlamaPeer::rest() {
  if (!resting_) library_.api().threadpool_pause(pool_);
  resting_ = true;
}

Status LlamaPeer::run(std::span<const int32_t> tokens, size_t n_rows) {
  if (tokens.empty() || position_ + static_cast<int32_t>(tokens.size()) > options_.n_ctx) {
    return Refusal(kPeerFailed, cat(tokens.size(), " tokens at position ", position_,
                                    " do not fit its context of ", options_.n_ctx));
  }
  wake();
  const int32_t count = static_cast<int32_t>(tokens.size());
  batch_.n_tokens = count;
  for (int32_t i = 0; i < count; ++i) {
    batch_.token[i] = tokens[static_cast<size_t>(i)];
    batch_.position[i] = position_ + i;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = 0;
    batch_.wants_logits[i] = static_cast<size_t>(i) < n_rows || i == count - 1;
  }
  if (library_.api().decode(context_, batch_) != 0) {
    return Refusal(kPeerFailed, "llama_decode failed");
  }
  position_ += count;
  last_row_ = count - 1;
  // Waits for the end of the work, as a reader of the logits would.
  if (!library_.api().get_logits_ith(context_, last_row_)) {
    return Refusal(kPeerFailed, "it gave no logits");
  }
  return {};
}

Status LlamaPeer::feed(std::span<const int32_t> tokens) {
  return run(tokens, 0);
}

std::span<const float> LlamaPeer::logits() {
  return {library_.api().get_logits_ith(context_, last_row_), static_cast<size_t>(n_vocab_)};
}

Result<std::vector<float>> LlamaPeer::rows(std::span<const int32_t> tokens, size_t n_rows) {
  TRY_DO(reset());
  TRY_DO(run(tokens, n_rows));
  std::vector<float> rows;
  rows.reserve(n_rows * static_cast<size_t>(n_vocab_));
  for (size_t i = 0; i < n_rows; ++i) {
    const float* row = library_.api().get_logits_ith(context_, static_cast<int32_t>(i));
    rows.insert(rows.end(), row, row + n_vocab_);
  }
  return rows;
}

std::vector<int32_t> LlamaPeer::tokenize(std::string_view text, bool special) const {
  std::vector<int32_t> tokens(text.size() + 8);
  const int32_t count = library_.api().tokenize(
      library_.api().model_get_vocab(model_), text.data(), static_cast<int32_t>(text.size()),
      tokens.data(), static_cast<int32_t>(tokens.size()), false, special);
  tokens.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return tokens;
}

}  // namespace assay::bench
