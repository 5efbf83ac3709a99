// libcurl with typed wrappers for its variadic functions. The names in parentheses are those of macros too.
#pragma once
#include <curl/curl.h>
#include <stdint.h>
#include "../CLinux/library.h"

#define CURL_FUNCTIONS(each)     \
  each(curl_easy_cleanup)        \
  each(curl_easy_getinfo)        \
  each(curl_easy_init)           \
  each(curl_easy_pause)          \
  each(curl_easy_recv)           \
  each(curl_easy_send)           \
  each(curl_easy_setopt)         \
  each(curl_easy_strerror)       \
  each(curl_free)                \
  each(curl_getdate)             \
  each(curl_global_init)         \
  each(curl_multi_add_handle)    \
  each(curl_multi_cleanup)       \
  each(curl_multi_info_read)     \
  each(curl_multi_init)          \
  each(curl_multi_remove_handle) \
  each(curl_multi_setopt)        \
  each(curl_multi_socket_action) \
  each(curl_multi_strerror)      \
  each(curl_slist_append)        \
  each(curl_slist_free_all)      \
  each(curl_url)                 \
  each(curl_url_cleanup)         \
  each(curl_url_get)             \
  each(curl_url_set)             \
  each(curl_url_strerror)        \
  each(curl_version_info)
LIBRARY(curl, CURL_FUNCTIONS)

// Functions of libidn2, whose header is not needed to build libcurl's users.
int idn2_lookup_u8(const uint8_t *name, uint8_t **ascii, int flags);
void idn2_free(void *name);
#define IDN_FUNCTIONS(each) \
  each(idn2_free)           \
  each(idn2_lookup_u8)
LIBRARY(idn, IDN_FUNCTIONS)
/// IDN2_NFC_INPUT and IDN2_NONTRANSITIONAL, as browsers look names up.
enum { IDN_LOOKUP_FLAGS = 1 | 8 };

enum { CURL_BASIC_AUTHENTICATION = CURLAUTH_BASIC };

static inline CURLcode curl_set_long(struct curl_library curl, CURL *handle, CURLoption option, long value) {
  return (curl.curl_easy_setopt)(handle, option, value);
}
static inline CURLcode curl_set_string(struct curl_library curl, CURL *handle, CURLoption option, const char *value) {
  return (curl.curl_easy_setopt)(handle, option, value);
}
static inline CURLcode curl_set_pointer(struct curl_library curl, CURL *handle, CURLoption option, void *value) {
  return (curl.curl_easy_setopt)(handle, option, value);
}
/// Copies the body of a request, whose size was set before; NULL for an empty one.
static inline CURLcode curl_copy_body(struct curl_library curl, CURL *handle, const void *bytes) {
  return (curl.curl_easy_setopt)(handle, CURLOPT_COPYPOSTFIELDS, bytes ? bytes : "");
}

/// A callback of libcurl for a header line or a piece of a body; a result other than `size * count` ends the
/// transfer.
typedef size_t (*curl_bytes_function)(char *bytes, size_t size, size_t count, void *context);
/// A callback of libcurl when it is connected and about to send a request.
typedef int (*curl_request_function)(void *context, char *address, char *local, int port, int local_port);
/// A callback of libcurl to have a socket watched for CURL_POLL_….
typedef int (*curl_socket_function)(CURL *handle, curl_socket_t socket, int what, void *context, void *assigned);
/// A callback of libcurl to be called back in `milliseconds`, -1: not at all.
typedef int (*curl_timer_function)(CURLM *multi, long milliseconds, void *context);

static inline void curl_set_body_function(
  struct curl_library curl, CURL *handle, curl_bytes_function function, void *context) {
  (curl.curl_easy_setopt)(handle, CURLOPT_WRITEFUNCTION, function);
  (curl.curl_easy_setopt)(handle, CURLOPT_WRITEDATA, context);
}
static inline void curl_set_header_function(
  struct curl_library curl, CURL *handle, curl_bytes_function function, void *context) {
  (curl.curl_easy_setopt)(handle, CURLOPT_HEADERFUNCTION, function);
  (curl.curl_easy_setopt)(handle, CURLOPT_HEADERDATA, context);
}
static inline void curl_set_request_function(
  struct curl_library curl, CURL *handle, curl_request_function function, void *context) {
  (curl.curl_easy_setopt)(handle, CURLOPT_PREREQFUNCTION, function);
  (curl.curl_easy_setopt)(handle, CURLOPT_PREREQDATA, context);
}

static inline void curl_multi_set_socket_function(
  struct curl_library curl, CURLM *multi, curl_socket_function function, void *context) {
  (curl.curl_multi_setopt)(multi, CURLMOPT_SOCKETFUNCTION, function);
  (curl.curl_multi_setopt)(multi, CURLMOPT_SOCKETDATA, context);
}
static inline void curl_multi_set_timer_function(
  struct curl_library curl, CURLM *multi, curl_timer_function function, void *context) {
  (curl.curl_multi_setopt)(multi, CURLMOPT_TIMERFUNCTION, function);
  (curl.curl_multi_setopt)(multi, CURLMOPT_TIMERDATA, context);
}

/// Returns a number of a transfer; 0 when libcurl does not know it.
static inline long curl_get_long(struct curl_library curl, CURL *handle, CURLINFO info) {
  long value = 0;
  return (curl.curl_easy_getinfo)(handle, info, &value) == CURLE_OK ? value : 0;
}
/// Returns a text of a transfer, valid as long as the transfer; NULL when libcurl has no such text.
static inline const char *curl_get_string(struct curl_library curl, CURL *handle, CURLINFO info) {
  char *value = NULL;
  return (curl.curl_easy_getinfo)(handle, info, &value) == CURLE_OK ? value : NULL;
}
/// Returns the socket of a connection without a transfer; CURL_SOCKET_BAD without one.
static inline curl_socket_t curl_get_socket(struct curl_library curl, CURL *handle) {
  curl_socket_t value = CURL_SOCKET_BAD;
  return (curl.curl_easy_getinfo)(handle, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK ? value : CURL_SOCKET_BAD;
}
/// Returns the pointer that CURLOPT_PRIVATE was set to.
static inline void *curl_get_private(struct curl_library curl, CURL *handle) {
  void *value = NULL;
  return (curl.curl_easy_getinfo)(handle, CURLINFO_PRIVATE, (char **)&value) == CURLE_OK ? value : NULL;
}

/// Returns the versions of libcurl and the libraries that it uses.
static inline const curl_version_info_data *curl_versions(struct curl_library curl) {
  return (curl.curl_version_info)(CURLVERSION_NOW);
}
