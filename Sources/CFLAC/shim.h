#pragma once
#include <FLAC/stream_decoder.h>

// A variable, though no code assigns it.
static inline const char *flac_version(void) { return FLAC__VERSION_STRING; }
