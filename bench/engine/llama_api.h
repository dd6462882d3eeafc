// The part of llama.cpp's C interface that the comparison calls, declared by us for the one pinned
// build (version 0.4.0 inside the npm package that `bench/run` fetches).
//
// The library is opened at run time; nothing of it is needed to build. Its parameter structs have
// no version number and travel by value, so a layout that is not exactly this one would be silent
// nonsense: llama_peer.cpp compares every known default and the size the library really writes
// before the first use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::bench::llama {

struct Model;
struct Context;
struct Vocab;
struct Memory;
struct Threadpool;
struct Registry;

enum LoadMode : int32_t { kLoadAuto = -1, kLoadNone = 0, kLoadMmap = 1 };
enum FlashAttention : int32_t { kFlashAuto = -1, kFlashOff = 0, kFlashOn = 1 };
inline constexpr int32_t kTypeF32 = 0;
inline constexpr int32_t kTypeF16 = 1;

struct ModelParams {
  void* devices;
  const void* tensor_buffer_overrides;
  int32_t n_gpu_layers;
  int32_t split_mode;
  int32_t load_mode;
  int32_t unnamed_28;  // 1 by default; left alone
  int32_t main_gpu;
  const float* tensor_split;
  void* progress_callback;
  void* progress_callback_data;
  const void* kv_overrides;
  bool vocab_only;
  bool check_tensors;
  bool use_extra_buffers;  // weights repacked for the CPU where a repacked form exists
  bool no_host;
  bool no_alloc;
  bool load_mtp;
};
static_assert(sizeof(ModelParams) == 80 && offsetof(ModelParams, vocab_only) == 72);

struct ContextParams {
  uint32_t n_ctx;
  uint32_t n_batch;
  uint32_t n_ubatch;
  uint32_t n_seq_max;
  uint32_t n_rs_seq;
  uint32_t n_outputs_max;
  uint32_t n_outputs_max_per_seq;
  int32_t n_threads;
  int32_t n_threads_batch;
  int32_t context_type;
  int32_t rope_scaling_type;
  int32_t pooling_type;
  int32_t attention_type;
  int32_t flash_attention;
  float rope_freq_base;
  float rope_freq_scale;
  float yarn_ext_factor;
  float yarn_attn_factor;
  float yarn_beta_fast;
  float yarn_beta_slow;
  uint32_t yarn_orig_ctx;
  float defrag_threshold;
  void* eval_callback;
  void* eval_callback_data;
  int32_t type_k;
  int32_t type_v;
  void* abort_callback;
  void* abort_callback_data;
  bool embeddings;
  bool offload_kqv;
  bool no_perf;
  bool op_offload;
  bool swa_full;
  bool kv_unified;
  void* samplers;
  size_t n_samplers;
  void* other_context;
};
static_assert(sizeof(ContextParams) == 160 && offsetof(ContextParams, embeddings) == 128);

struct Batch {
  int32_t n_tokens;
  int32_t* token;
  float* embedding;
  int32_t* position;
  int32_t* n_seq_id;
  int32_t** seq_id;
  int8_t* wants_logits;
};
static_assert(sizeof(Batch) == 56);

struct ThreadpoolParams {
  bool cpu_mask[512];
  int32_t n_threads;
  int32_t priority;
  uint32_t poll;
  bool strict_cpu;
  bool paused;
};
static_assert(sizeof(ThreadpoolParams) == 528);

using LogCallback = void (*)(int level, const char* text, void* data);

/// Every function we call, by its exported name without the prefix. Filled by llama_peer.cpp.
struct Api {
  const char* (*version)();
  void (*backend_init)();
  void (*log_set)(LogCallback, void*);
  // These two return a struct through memory; the address goes in as a hidden first argument
  // (System V x86-64), which lets us see how many bytes the library writes.
  void (*model_default_params)(void* out);
  void (*context_default_params)(void* out);
  Model* (*model_load_from_file)(const char* path, ModelParams);
  void (*model_free)(Model*);
  Context* (*init_from_model)(Model*, ContextParams);
  void (*free)(Context*);
  const Vocab* (*model_get_vocab)(const Model*);
  int32_t (*vocab_n_tokens)(const Vocab*);
  int32_t (*tokenize)(const Vocab*, const char* text, int32_t size, int32_t* tokens, int32_t max,
                      bool add_special, bool parse_special);
  Memory* (*get_memory)(const Context*);
  void (*memory_clear)(Memory*, bool data);
  Batch (*batch_init)(int32_t n_tokens, int32_t embedding, int32_t n_seq_max);
  void (*batch_free)(Batch);
  int32_t (*decode)(Context*, Batch);
  float* (*get_logits_ith)(Context*, int32_t index);
  void (*set_n_threads)(Context*, int32_t n_threads, int32_t n_threads_batch);
  void (*attach_threadpool)(Context*, Threadpool*, Threadpool* batch);

  void (*backend_load_all_from_path)(const char* folder);
  size_t (*backend_reg_count)();
  Registry* (*backend_reg_get)(size_t index);
  const char* (*backend_reg_name)(Registry*);
  void* (*backend_reg_get_proc_address)(Registry*, const char* name);
  void (*threadpool_params_default)(void* out, int n_threads);
  Threadpool* (*threadpool_new)(ThreadpoolParams*);
  void (*threadpool_free)(Threadpool*);
  void (*threadpool_pause)(Threadpool*);
  void (*threadpool_resume)(Threadpool*);
};

}  // namespace assay::bench::llama
