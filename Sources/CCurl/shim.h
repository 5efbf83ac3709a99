// libcurl with typed wrappers for its variadic functions.
#pragma once
#include <curl/curl.h>

enum { CURL_BASIC_AUTHENTICATION = CURLAUTH_BASIC };

static inline CURLcode curl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode curl_set_string(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}
static inline CURLcode curl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}
/// Copies the body of a request, whose size was set before; NULL for an empty one.
static inline CURLcode curl_copy_body(CURL *handle, const void *bytes) {
  return curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, bytes ? bytes : "");
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

static inline void curl_set_body_function(CURL *handle, curl_bytes_function function, void *context) {
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, function);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}
static inline void curl_set_header_function(CURL *handle, curl_bytes_function function, void *context) {
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, function);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
}
static inline void curl_set_request_function(CURL *handle, curl_request_function function, void *context) {
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, function);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, context);
}

static inline void curl_multi_set_socket_function(CURLM *multi, curl_socket_function function, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}
static inline void curl_multi_set_timer_function(CURLM *multi, curl_timer_function function, void *context) {
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/// Returns a number that libcurl knows of a transfer, 0 when it does not.
static inline long curl_get_long(CURL *handle, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}
/// Returns a text of a transfer, valid as long as that; NULL when there is none.
static inline const char *curl_get_string(CURL *handle, CURLINFO info) {
  char *value = NULL;
  return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : NULL;
}
/// Returns the pointer that CURLOPT_PRIVATE was set to.
static inline void *curl_get_private(CURL *handle) {
  void *value = NULL;
  return curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)&value) == CURLE_OK ? value : NULL;
}

/// Returns the versions of libcurl and the libraries that it uses.
static inline const curl_version_info_data *curl_versions(void) { return curl_version_info(CURLVERSION_NOW); }
