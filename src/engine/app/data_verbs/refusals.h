// Every refusal of the data verbs.
#pragma once

#include "base/refusal.h"

namespace assay::engine::app {

inline constexpr RefusalInfo kSynthGeometry{
    "SYNTH-GEOMETRY", "The sizes asked for do not make a model of that architecture and type.",
    "Change the size that the message names."};
inline constexpr RefusalInfo kSynthFolderOccupied{
    "SYNTH-FOLDER-OCCUPIED", "The output folder already holds other GGUF files.",
    "Give an empty folder: a folder with two models is ambiguous."};

inline constexpr const RefusalInfo* kDataVerbsRefusals[] = {&kSynthGeometry, &kSynthFolderOccupied};

}  // namespace assay::engine::app
