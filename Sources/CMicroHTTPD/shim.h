#pragma once
#include <microhttpd.h>
#include "../CLinux/library.h"

#define MHD_FUNCTIONS(each)               \
  each(MHD_add_response_header)           \
  each(MHD_create_response_from_buffer)   \
  each(MHD_create_response_from_callback) \
  each(MHD_destroy_response)              \
  each(MHD_get_connection_info)           \
  each(MHD_get_connection_values)         \
  each(MHD_queue_response)                \
  each(MHD_quiesce_daemon)                \
  each(MHD_resume_connection)             \
  each(MHD_start_daemon)                  \
  each(MHD_stop_daemon)                   \
  each(MHD_suspend_connection)
LIBRARY(mhd, MHD_FUNCTIONS)

// The settings of a daemon: the library's options are variable arguments.
struct mhd_settings {
  int listener;
  // A thread for each connection, or one for all.
  int threads_per_connection;
  unsigned connections, connections_per_address, idle_seconds;
  // The most bytes of a request's head.
  size_t head;
  // PEM texts that end with a zero; null without TLS.
  const char *_Nullable certificate, *_Nullable key;
  void *_Nonnull context;
  MHD_AccessHandlerCallback _Nonnull handler;
  MHD_RequestCompletedCallback _Nonnull completed;
  MHD_NotifyConnectionCallback _Nonnull connection;
};

static inline struct MHD_Daemon *_Nullable mhd_start(struct mhd_library mhd, struct mhd_settings settings) {
  unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD;
  flags |= settings.threads_per_connection
               ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL
               : MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings.certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings.key},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"},
      {MHD_OPTION_END, 0, NULL}};
  struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
  if (settings.certificate) flags |= MHD_USE_TLS;
  return mhd.MHD_start_daemon(
      flags, 0, 0, 0, settings.handler, settings.context, MHD_OPTION_LISTEN_SOCKET, settings.listener,
      MHD_OPTION_CONNECTION_LIMIT, settings.connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
      settings.connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT, settings.idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings.head, MHD_OPTION_NOTIFY_COMPLETED, settings.completed,
      settings.context, MHD_OPTION_NOTIFY_CONNECTION, settings.connection, settings.context, MHD_OPTION_ARRAY,
      settings.certificate ? tls : none, MHD_OPTION_END);
}

// Returns the descriptor of a connection.
static inline int mhd_descriptor(struct mhd_library mhd, struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info = mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// A macro with a cast.
static const uint64_t mhd_size_unknown = MHD_SIZE_UNKNOWN;
