#pragma once
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include "../CLinux/library.h"

#define MOSQUITTO_FUNCTIONS(each)             \
  each(mosquitto_connack_string)              \
  each(mosquitto_connect_bind_v5)             \
  each(mosquitto_connect_v5_callback_set)     \
  each(mosquitto_destroy)                     \
  each(mosquitto_disconnect)                  \
  each(mosquitto_disconnect_v5_callback_set)  \
  each(mosquitto_int_option)                  \
  each(mosquitto_lib_init)                    \
  each(mosquitto_log_callback_set)            \
  each(mosquitto_loop_misc)                   \
  each(mosquitto_loop_read)                   \
  each(mosquitto_loop_write)                  \
  each(mosquitto_message_v5_callback_set)     \
  each(mosquitto_new)                         \
  each(mosquitto_property_add_int32)          \
  each(mosquitto_property_add_varint)         \
  each(mosquitto_property_free_all)           \
  each(mosquitto_property_read_varint)        \
  each(mosquitto_publish)                     \
  each(mosquitto_publish_v5_callback_set)     \
  each(mosquitto_reason_string)               \
  each(mosquitto_socket)                      \
  each(mosquitto_strerror)                    \
  each(mosquitto_subscribe_v5)                \
  each(mosquitto_subscribe_v5_callback_set)   \
  each(mosquitto_tls_set)                     \
  each(mosquitto_unsubscribe)                 \
  each(mosquitto_unsubscribe_v5_callback_set) \
  each(mosquitto_username_pw_set)             \
  each(mosquitto_want_write)                  \
  each(mosquitto_will_set)
LIBRARY(mosquitto, MOSQUITTO_FUNCTIONS)
