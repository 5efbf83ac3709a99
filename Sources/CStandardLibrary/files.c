/* A new file of stdlib/, other than the descriptions in stdlib/meta and the specs in stdlib/spec, gets its two lines
   here. */
#include "CStandardLibrary.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char alarm[] = {
#embed "../../stdlib/alarm.lua"
};
static const unsigned char announce[] = {
#embed "../../stdlib/announce.lua"
};
static const unsigned char bell[] = {
#embed "../../stdlib/sounds/bell.mp3"
};
static const unsigned char eq[] = {
#embed "../../stdlib/eq.lua"
};
static const unsigned char fade[] = {
#embed "../../stdlib/fade.lua"
};
static const unsigned char follow[] = {
#embed "../../stdlib/follow.lua"
};
static const unsigned char party[] = {
#embed "../../stdlib/party.lua"
};
static const unsigned char recorder[] = {
#embed "../../stdlib/recorder.lua"
};
static const unsigned char misuse[] = {
#embed "../../stdlib/roomtone/misuse.lua"
};
static const unsigned char object[] = {
#embed "../../stdlib/roomtone/object.lua"
};
static const unsigned char options[] = {
#embed "../../stdlib/roomtone/options.lua"
};
static const unsigned char ringing[] = {
#embed "../../stdlib/roomtone/ringing.lua"
};
static const unsigned char rooms[] = {
#embed "../../stdlib/roomtone/rooms.lua"
};
static const unsigned char sounds[] = {
#embed "../../stdlib/roomtone/sounds.lua"
};
static const unsigned char spec[] = {
#embed "../../stdlib/roomtone/spec.lua"
};
static const unsigned char scene[] = {
#embed "../../stdlib/scene.lua"
};
static const unsigned char station[] = {
#embed "../../stdlib/simulation/station.mp3"
};
static const unsigned char sleep_timer[] = {
#embed "../../stdlib/sleep_timer.lua"
};
static const unsigned char zone[] = {
#embed "../../stdlib/zone.lua"
};

static const standard_library_file files[] = {
    {"alarm.lua", alarm, sizeof alarm},
    {"announce.lua", announce, sizeof announce},
    {"eq.lua", eq, sizeof eq},
    {"fade.lua", fade, sizeof fade},
    {"follow.lua", follow, sizeof follow},
    {"party.lua", party, sizeof party},
    {"recorder.lua", recorder, sizeof recorder},
    {"roomtone/misuse.lua", misuse, sizeof misuse},
    {"roomtone/object.lua", object, sizeof object},
    {"roomtone/options.lua", options, sizeof options},
    {"roomtone/ringing.lua", ringing, sizeof ringing},
    {"roomtone/rooms.lua", rooms, sizeof rooms},
    {"roomtone/sounds.lua", sounds, sizeof sounds},
    {"roomtone/spec.lua", spec, sizeof spec},
    {"scene.lua", scene, sizeof scene},
    {"simulation/station.mp3", station, sizeof station},
    {"sleep_timer.lua", sleep_timer, sizeof sleep_timer},
    {"sounds/bell.mp3", bell, sizeof bell},
    {"zone.lua", zone, sizeof zone},
};

const standard_library_file *standard_library_file_at(size_t number) {
  return number < sizeof files / sizeof files[0] ? &files[number] : NULL;
}
