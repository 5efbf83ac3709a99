// What Swift's Glibc module leaves out of Linux: event polls, event and timer descriptors, signal descriptors.
#pragma once
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
