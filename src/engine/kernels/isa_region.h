// ISA_REGION_BEGIN("avx2,fma") … ISA_REGION_END: functions in between are compiled for those CPU
// features, the rest of the file for the baseline.
//
// Open a region after all #includes, so that no inline function of a shared header is ever compiled
// for it (the linker could keep that copy for the whole program); keep every name inside in an
// anonymous namespace; use raw pointers and intrinsics inside, no std templates.
#pragma once

#define ASSAY_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define ISA_REGION_BEGIN(features) \
  ASSAY_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define ISA_REGION_END _Pragma("clang attribute pop")
#else
#define ISA_REGION_BEGIN(features) _Pragma("GCC push_options") ASSAY_PRAGMA(GCC target(features))
#define ISA_REGION_END _Pragma("GCC pop_options")
#endif

// Helpers of a kernel are part of its loop.
#define ASSAY_INLINE __attribute__((always_inline)) inline
