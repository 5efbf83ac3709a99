#pragma once
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>

// The macro is more than Swift reads.
static const unsigned int alsa_ioplug_version = SND_PCM_IOPLUG_VERSION;
