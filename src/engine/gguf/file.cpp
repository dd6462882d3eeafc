#include "engine/gguf/file.h"

#include <algorithm>
#include <utility>

#include "base/refusals.h"
#include "base/text.h"
#include "engine/gguf/name_index.h"
#include "engine/gguf/name_text.h"
#include "engine/gguf/parse.h"
#include "engine/gguf/refusals.h"
#include "engine/gguf/split.h"

namespace assay::engine::gguf {

struct File::State {
  std::vector<ParsedFile> files;
  std::vector<ShardFile> shards;
  std::vector<Tensor> tensors;
  NameIndex index;
  uint64_t data_bytes = 0;
};

File::File() = default;
File::~File() = default;
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;

const std::filesystem::path& File::path() const {
  return state_->shards.front().path;
}
std::span<const ShardFile> File::shards() const {
  return state_->shards;
}
uint32_t File::version() const {
  return state_->files.front().version;
}
uint64_t File::alignment() const {
  return state_->files.front().alignment;
}
const Metadata& File::metadata() const {
  return state_->files.front().metadata;
}
const Metadata& File::metadata_of(size_t shard) const {
  return state_->files[shard].metadata;
}
std::span<const Tensor> File::tensors() const {
  return state_->tensors;
}
uint64_t File::data_bytes() const {
  return state_->data_bytes;
}

const Tensor* File::find(std::string_view name) const {
  const auto at = state_->index.find(name, [this](uint32_t i) { return state_->tensors[i].name; });
  return at ? &state_->tensors[*at] : nullptr;
}

Result<const Tensor*> File::require(std::string_view name) const {
  const Tensor* const tensor = find(name);
  if (tensor == nullptr) {
    return Refusal(kTensorMissing,
                   cat(path().string(), ": tensor ", name_text(name),
                       " is not there; the file holds ", tensors().size(), " tensors"));
  }
  if (tensor->type == nullptr || !tensor->type->computable) {
    return Refusal(kTypeUnknown, cat(state_->shards[tensor->shard].path.string(), ": tensor ",
                                     name_text(name), " has ", type_label(tensor->type_id),
                                     ", not known to this build; known are ", computable_types()));
  }
  return tensor;
}

std::string dims_text(const Tensor& tensor) {
  std::string text = "[";
  for (uint32_t d = 0; d < tensor.n_dims; ++d) text += cat(d == 0 ? "" : ", ", tensor.dims[d]);
  return text + "]";
}

/// Puts the checked files of one model together.
class FileBuilder {
 public:
  static Result<File> build(std::vector<ParsedFile> files) {
    File file;
    file.state_ = std::make_unique<File::State>();
    File::State& state = *file.state_;
    state.files = std::move(files);
    for (uint32_t shard = 0; shard < state.files.size(); ++shard) {
      const ParsedFile& parsed = state.files[shard];
      state.shards.push_back({parsed.mapping.path(), parsed.mapping.bytes().size()});
      for (Tensor tensor : parsed.tensors) {
        tensor.shard = shard;
        state.data_bytes += tensor.data.size();
        state.tensors.push_back(tensor);
      }
    }
    const auto duplicate = state.index.build(static_cast<uint32_t>(state.tensors.size()),
                                             [&](uint32_t i) { return state.tensors[i].name; });
    if (duplicate) {
      const Tensor& tensor = state.tensors[*duplicate];
      return Refusal(kTensorDuplicate, cat(state.shards[tensor.shard].path.string(), ": tensor ",
                                           name_text(tensor.name), " stands twice"));
    }
    return file;
  }
};

Result<File> open_file(const std::filesystem::path& path) {
  TRY(mapping, Mapping::open(path));
  TRY(first, parse_file(std::move(mapping)));
  TRY(files, complete_set(std::move(first)));
  return FileBuilder::build(std::move(files));
}

Result<File> open_bytes(std::string_view name, std::span<const std::byte> bytes) {
  TRY(first, parse_file(Mapping::copy(name, bytes)));
  TRY(place, split_place(first));
  if (place.count > 1) {
    return Refusal(kSplitMissing, cat(name, ": is one of ", place.count,
                                      " shards, but was given alone and without a folder"));
  }
  std::vector<ParsedFile> files;
  files.push_back(std::move(first));
  return FileBuilder::build(std::move(files));
}

namespace {

Result<bool> declares_nextn(const Metadata& metadata) {
  TRY(architecture, metadata.string_or("general.architecture", ""));
  if (architecture.empty()) return false;
  TRY(layers, metadata.uint_or(cat(architecture, ".nextn_predict_layers"), 0));
  return layers > 0;
}

// Files of another kind (`general.type` mmproj, adapter, imatrix …) may lie beside a model.
Result<bool> is_candidate(const ParsedFile& file) {
  TRY(type, file.metadata.string_or("general.type", "model"));
  return type == "model";
}

Result<std::vector<std::filesystem::path>> gguf_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".gguf") paths.push_back(at->path());
  }
  if (error) return Refusal(kFileUnreadable, cat(folder.string(), ": ", error.message()));
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Later shards need no opening of their own, but their first shard must be there.
Status check_has_first(const ParsedFile& later, const SplitPlace& place) {
  const std::filesystem::path& path = later.mapping.path();
  const auto name = parse_split_name(path.filename().string());
  std::error_code error;
  if (name && std::filesystem::exists(
                  path.parent_path() / split_file_name(name->stem, 1, name->count), error)) {
    return {};
  }
  return Refusal(kSplitMissing, cat(path.string(), ": is shard ", place.index + 1, " of ",
                                    place.count, ", but the first shard is not beside it"));
}

Status choose(std::optional<File>& chosen, File file, std::string_view role,
              const std::filesystem::path& folder) {
  if (chosen) {
    return Refusal(
        kFolderAmbiguous,
        cat(folder.string(), ": ", name_text(chosen->path().filename().string()), " and ",
            name_text(file.path().filename().string()), " could both be the ", role));
  }
  chosen = std::move(file);
  return {};
}

Result<ModelFiles> open_folder(const std::filesystem::path& folder) {
  TRY(paths, gguf_files_in(folder));
  std::optional<File> model;
  std::optional<File> head;
  for (const std::filesystem::path& path : paths) {
    TRY(mapping, Mapping::open(path));
    TRY(parsed, parse_file(std::move(mapping)));
    TRY(place, split_place(parsed));
    if (place.index != 0) {
      TRY_DO(check_has_first(parsed, place));
      continue;
    }
    TRY(candidate, is_candidate(parsed));
    if (!candidate) continue;
    TRY(files, complete_set(std::move(parsed)));
    TRY(file, FileBuilder::build(std::move(files)));
    TRY(nextn, is_draft_head(file));
    TRY_DO(choose(nextn ? head : model, std::move(file), nextn ? "draft head" : "model", folder));
  }
  if (!model) {
    return Refusal(kFolderEmpty, cat(folder.string(), ": ",
                                     head ? cat("holds only a draft head, ",
                                                name_text(head->path().filename().string()))
                                          : "holds no model",
                                     "; expected one GGUF model"));
  }
  return ModelFiles{std::move(*model), std::move(head)};
}

}  // namespace

Result<bool> is_draft_head(const File& file) {
  return declares_nextn(file.metadata());
}

Result<ModelFiles> open_model(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_folder(path);
  TRY(file, open_file(path));
  return ModelFiles{std::move(file), std::nullopt};
}

}  // namespace assay::engine::gguf
