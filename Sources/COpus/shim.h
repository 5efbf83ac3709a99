#pragma once
#include <opus_multistream.h>

/// Sets the output gain, in 1/256 dB.
static inline int opus_set_output_gain(OpusMSDecoder *decoder, opus_int32 gain) {
  return opus_multistream_decoder_ctl(decoder, OPUS_SET_GAIN(gain));
}

/// Forgets the packets so far.
static inline int opus_reset(OpusMSDecoder *decoder) {
  return opus_multistream_decoder_ctl(decoder, OPUS_RESET_STATE);
}
