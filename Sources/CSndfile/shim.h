#pragma once
#include <sndfile.h>
#include "../CLinux/library.h"

#define SNDFILE_FUNCTIONS(each) \
  each(sf_close)                \
  each(sf_command)              \
  each(sf_error)                \
  each(sf_open_fd)              \
  each(sf_readf_float)          \
  each(sf_seek)                 \
  each(sf_strerror)             \
  each(sf_version_string)       \
  each(sf_writef_short)
LIBRARY(sndfile, SNDFILE_FUNCTIONS)
