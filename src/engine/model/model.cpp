#include "engine/model/model.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace assay::engine::model {

Model::Model(gguf::File file, HyperParameters hyper, Weights weights)
    : file_(std::move(file)), hyper_(hyper), weights_(std::move(weights)) {}

Result<Model> Model::load(gguf::File file) {
  TRY(hyper, read_hyper_parameters(file));
  TRY(weights, bind_weights(file, hyper));
  return Model(std::move(file), hyper, std::move(weights));
}

std::vector<std::string> Model::warnings() const {
  std::vector<std::string> out;
  const auto& unbound = weights_.unbound;
  if (!unbound.empty()) {
    constexpr size_t kShown = 5;
    const std::vector<std::string> shown(
        unbound.begin(),
        unbound.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, unbound.size())));
    out.push_back(cat(file_.path().string(), ": ", unbound.size(),
                      " tensors are not used by architecture ", hyper_.architecture->name, ": ",
                      join(shown, ", "), unbound.size() > kShown ? ", …" : ""));
  }
  return out;
}

void Model::prefault() const {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const gguf::Tensor& tensor : file_.tensors()) {
    if (tensor.data.empty()) continue;
    const auto first = reinterpret_cast<uintptr_t>(tensor.data.data()) / page * page;
    const auto last = reinterpret_cast<uintptr_t>(tensor.data.data()) + tensor.data.size();
#ifdef MADV_POPULATE_READ
    if (madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_READ) == 0) continue;
#endif
    for (uintptr_t at = first; at < last; at += page) {
      static_cast<void>(*reinterpret_cast<const volatile std::byte*>(
          std::max(at, reinterpret_cast<uintptr_t>(tensor.data.data()))));
    }
  }
}

}  // namespace assay::engine::model
