#pragma once
#include <alsa/asoundlib.h>
#include "../CLinux/library.h"

#define ALSA_FUNCTIONS(each)               \
  each(snd_asoundlib_version)              \
  each(snd_card_get_name)                  \
  each(snd_card_next)                      \
  each(snd_lib_error_set_local)            \
  each(snd_pcm_avail)                      \
  each(snd_pcm_close)                      \
  each(snd_pcm_delay)                      \
  each(snd_pcm_drain)                      \
  each(snd_pcm_drop)                       \
  each(snd_pcm_get_params)                 \
  each(snd_pcm_hw_params_any)              \
  each(snd_pcm_hw_params_free)             \
  each(snd_pcm_hw_params_get_channels_max) \
  each(snd_pcm_hw_params_malloc)           \
  each(snd_pcm_hw_params_test_channels)    \
  each(snd_pcm_nonblock)                   \
  each(snd_pcm_open)                       \
  each(snd_pcm_prepare)                    \
  each(snd_pcm_recover)                    \
  each(snd_pcm_set_params)                 \
  each(snd_pcm_start)                      \
  each(snd_pcm_state)                      \
  each(snd_pcm_wait)                       \
  each(snd_pcm_writei)                     \
  each(snd_strerror)
LIBRARY(alsa, ALSA_FUNCTIONS)

// Without this the library writes its complaints to standard error; all errors that matter are return codes.
static void alsa_say_nothing(
  const char *file, int line, const char *function, int error, const char *format, va_list arguments) {
  (void)file, (void)line, (void)function, (void)error, (void)format, (void)arguments;
}
// For the calling thread only.
static inline void alsa_silence_messages(struct alsa_library alsa) { alsa.snd_lib_error_set_local(alsa_say_nothing); }
