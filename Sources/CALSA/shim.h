#pragma once
#include <alsa/asoundlib.h>

// Without this the library writes its complaints to standard error; what matters comes as a return code.
static void alsa_say_nothing(
  const char *file, int line, const char *function, int error, const char *format, va_list arguments) {
  (void)file, (void)line, (void)function, (void)error, (void)format, (void)arguments;
}
// For the calling thread only.
static inline void alsa_silence_messages(void) { snd_lib_error_set_local(alsa_say_nothing); }
