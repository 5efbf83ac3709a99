/* A new file of stdlib/, other than the descriptions in stdlib/meta, gets its two lines here. */
#include "CStandardLibrary.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char eq[] = {
#embed "../../stdlib/eq.lua"
};
static const unsigned char misuse[] = {
#embed "../../stdlib/roomtone/misuse.lua"
};
static const unsigned char recorder[] = {
#embed "../../stdlib/recorder.lua"
};
static const unsigned char spec[] = {
#embed "../../stdlib/roomtone/spec.lua"
};
static const unsigned char station[] = {
#embed "../../stdlib/simulation/station.mp3"
};

static const standard_library_file files[] = {
    {"eq.lua", eq, sizeof eq},
    {"recorder.lua", recorder, sizeof recorder},
    {"roomtone/misuse.lua", misuse, sizeof misuse},
    {"roomtone/spec.lua", spec, sizeof spec},
    {"simulation/station.mp3", station, sizeof station},
};

const standard_library_file *standard_library_file_at(size_t number) {
  return number < sizeof files / sizeof files[0] ? &files[number] : NULL;
}
