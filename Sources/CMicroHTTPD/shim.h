#pragma once
#include <microhttpd.h>
#include "../CLinux/library.h"

#define MHD_FUNCTIONS(each)               \
  each(MHD_add_response_header)           \
  each(MHD_create_response_from_buffer)   \
  each(MHD_create_response_from_callback) \
  each(MHD_destroy_response)              \
  each(MHD_lookup_connection_value)       \
  each(MHD_queue_response)                \
  each(MHD_start_daemon)                  \
  each(MHD_stop_daemon)
LIBRARY(mhd, MHD_FUNCTIONS)

// Options are variable arguments. A thread for each connection: its reader may wait for sound.
static inline struct MHD_Daemon *mhd_start(
  struct mhd_library mhd, int listener, MHD_AccessHandlerCallback handler, void *context) {
  return mhd.MHD_start_daemon(
    MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, 0, 0, handler, context,
    MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, 64u, MHD_OPTION_PER_IP_CONNECTION_LIMIT, 8u,
    MHD_OPTION_CONNECTION_TIMEOUT, 60u, MHD_OPTION_END);
}

// A macro with a cast.
static const uint64_t mhd_size_unknown = MHD_SIZE_UNKNOWN;
