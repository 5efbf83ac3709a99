#pragma once
#include <soxr.h>
#include "../CLinux/library.h"

#define SOXR_FUNCTIONS(each) \
  each(soxr_clear)           \
  each(soxr_create)          \
  each(soxr_delete)          \
  each(soxr_io_spec)         \
  each(soxr_process)         \
  each(soxr_quality_spec)    \
  each(soxr_runtime_spec)    \
  each(soxr_set_io_ratio)    \
  each(soxr_version)
LIBRARY(soxr, SOXR_FUNCTIONS)
