#pragma once
#include <avahi-client/client.h>
#include <avahi-client/lookup.h>
#include <avahi-common/address.h>
#include <avahi-common/error.h>
#include <avahi-common/simple-watch.h>
#include "../CLinux/library.h"

#define AVAHI_FUNCTIONS(each)            \
  each(avahi_address_snprint)            \
  each(avahi_client_errno)               \
  each(avahi_client_free)                \
  each(avahi_client_new)                 \
  each(avahi_service_browser_get_client) \
  each(avahi_service_browser_new)        \
  each(avahi_service_resolver_free)      \
  each(avahi_service_resolver_new)       \
  each(avahi_simple_poll_free)           \
  each(avahi_simple_poll_get)            \
  each(avahi_simple_poll_iterate)        \
  each(avahi_simple_poll_new)            \
  each(avahi_strerror)
LIBRARY(avahi, AVAHI_FUNCTIONS)
