/* A new file of stdlib/, other than the specs in stdlib/spec, gets its two lines
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
static const unsigned char remote[] = {
#embed "../../stdlib/remote.lua"
};
static const unsigned char meta_remote[] = {
#embed "../../stdlib/meta/remote.lua"
};
static const unsigned char meta_alarm[] = {
#embed "../../stdlib/meta/alarm.lua"
};
static const unsigned char meta_announce[] = {
#embed "../../stdlib/meta/announce.lua"
};
static const unsigned char meta_eq[] = {
#embed "../../stdlib/meta/eq.lua"
};
static const unsigned char meta_configuration[] = {
#embed "../../stdlib/meta/configuration.lua"
};
static const unsigned char meta_home_assistant[] = {
#embed "../../stdlib/meta/home_assistant.lua"
};
static const unsigned char meta_sessions[] = {
#embed "../../stdlib/meta/sessions.lua"
};
static const unsigned char meta_simulation[] = {
#embed "../../stdlib/meta/simulation.lua"
};
static const unsigned char meta_hkwhub[] = {
#embed "../../stdlib/meta/hkwhub.lua"
};
static const unsigned char meta_snapcast[] = {
#embed "../../stdlib/meta/snapcast.lua"
};
static const unsigned char meta_webhooks[] = {
#embed "../../stdlib/meta/webhooks.lua"
};
static const unsigned char meta_specs[] = {
#embed "../../stdlib/meta/specs.lua"
};
static const unsigned char meta_error[] = {
#embed "../../stdlib/meta/error.lua"
};
static const unsigned char meta_fade[] = {
#embed "../../stdlib/meta/fade.lua"
};
static const unsigned char meta_follow[] = {
#embed "../../stdlib/meta/follow.lua"
};
static const unsigned char meta_globals[] = {
#embed "../../stdlib/meta/globals.lua"
};
static const unsigned char meta_prompt[] = {
#embed "../../stdlib/meta/prompt.lua"
};
static const unsigned char meta_headset[] = {
#embed "../../stdlib/meta/headset.lua"
};
static const unsigned char meta_http[] = {
#embed "../../stdlib/meta/http.lua"
};
static const unsigned char meta_mqtt[] = {
#embed "../../stdlib/meta/mqtt.lua"
};
static const unsigned char meta_json[] = {
#embed "../../stdlib/meta/json.lua"
};
static const unsigned char meta_log[] = {
#embed "../../stdlib/meta/log.lua"
};
static const unsigned char meta_party[] = {
#embed "../../stdlib/meta/party.lua"
};
static const unsigned char meta_recorder[] = {
#embed "../../stdlib/meta/recorder.lua"
};
static const unsigned char meta_recordings[] = {
#embed "../../stdlib/meta/recordings.lua"
};
static const unsigned char meta_scene[] = {
#embed "../../stdlib/meta/scene.lua"
};
static const unsigned char meta_schedule[] = {
#embed "../../stdlib/meta/schedule.lua"
};
static const unsigned char meta_sleep_timer[] = {
#embed "../../stdlib/meta/sleep_timer.lua"
};
static const unsigned char meta_speaker[] = {
#embed "../../stdlib/meta/speaker.lua"
};
static const unsigned char meta_speaker_devices[] = {
#embed "../../stdlib/meta/speaker_devices.lua"
};
static const unsigned char meta_speaker_events[] = {
#embed "../../stdlib/meta/speaker_events.lua"
};
static const unsigned char meta_speaker_history[] = {
#embed "../../stdlib/meta/speaker_history.lua"
};
static const unsigned char meta_speaker_sessions[] = {
#embed "../../stdlib/meta/speaker_sessions.lua"
};
static const unsigned char meta_store[] = {
#embed "../../stdlib/meta/store.lua"
};
static const unsigned char meta_stream[] = {
#embed "../../stdlib/meta/stream.lua"
};
static const unsigned char meta_stream_feeds[] = {
#embed "../../stdlib/meta/stream_feeds.lua"
};
static const unsigned char meta_stream_taps[] = {
#embed "../../stdlib/meta/stream_taps.lua"
};
static const unsigned char meta_stream_recordings[] = {
#embed "../../stdlib/meta/stream_recordings.lua"
};
static const unsigned char meta_task[] = {
#embed "../../stdlib/meta/task.lua"
};
static const unsigned char meta_trigger[] = {
#embed "../../stdlib/meta/trigger.lua"
};
static const unsigned char meta_zone[] = {
#embed "../../stdlib/meta/zone.lua"
};
static const unsigned char kept[] = {
#embed "../../stdlib/roomtone/kept.lua"
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
    {"meta/alarm.lua", meta_alarm, sizeof meta_alarm},
    {"meta/announce.lua", meta_announce, sizeof meta_announce},
    {"meta/eq.lua", meta_eq, sizeof meta_eq},
    {"meta/hkwhub.lua", meta_hkwhub, sizeof meta_hkwhub},
    {"meta/snapcast.lua", meta_snapcast, sizeof meta_snapcast},
    {"meta/configuration.lua", meta_configuration, sizeof meta_configuration},
    {"meta/home_assistant.lua", meta_home_assistant, sizeof meta_home_assistant},
    {"meta/sessions.lua", meta_sessions, sizeof meta_sessions},
    {"meta/simulation.lua", meta_simulation, sizeof meta_simulation},
    {"meta/webhooks.lua", meta_webhooks, sizeof meta_webhooks},
    {"meta/specs.lua", meta_specs, sizeof meta_specs},
    {"meta/error.lua", meta_error, sizeof meta_error},
    {"meta/fade.lua", meta_fade, sizeof meta_fade},
    {"meta/follow.lua", meta_follow, sizeof meta_follow},
    {"meta/globals.lua", meta_globals, sizeof meta_globals},
    {"meta/headset.lua", meta_headset, sizeof meta_headset},
    {"meta/http.lua", meta_http, sizeof meta_http},
    {"meta/json.lua", meta_json, sizeof meta_json},
    {"meta/mqtt.lua", meta_mqtt, sizeof meta_mqtt},
    {"meta/log.lua", meta_log, sizeof meta_log},
    {"meta/party.lua", meta_party, sizeof meta_party},
    {"meta/prompt.lua", meta_prompt, sizeof meta_prompt},
    {"meta/recorder.lua", meta_recorder, sizeof meta_recorder},
    {"meta/recordings.lua", meta_recordings, sizeof meta_recordings},
    {"meta/remote.lua", meta_remote, sizeof meta_remote},
    {"meta/scene.lua", meta_scene, sizeof meta_scene},
    {"meta/schedule.lua", meta_schedule, sizeof meta_schedule},
    {"meta/sleep_timer.lua", meta_sleep_timer, sizeof meta_sleep_timer},
    {"meta/speaker.lua", meta_speaker, sizeof meta_speaker},
    {"meta/speaker_devices.lua", meta_speaker_devices, sizeof meta_speaker_devices},
    {"meta/speaker_events.lua", meta_speaker_events, sizeof meta_speaker_events},
    {"meta/speaker_history.lua", meta_speaker_history, sizeof meta_speaker_history},
    {"meta/speaker_sessions.lua", meta_speaker_sessions, sizeof meta_speaker_sessions},
    {"meta/store.lua", meta_store, sizeof meta_store},
    {"meta/stream.lua", meta_stream, sizeof meta_stream},
    {"meta/stream_feeds.lua", meta_stream_feeds, sizeof meta_stream_feeds},
    {"meta/stream_recordings.lua", meta_stream_recordings, sizeof meta_stream_recordings},
    {"meta/stream_taps.lua", meta_stream_taps, sizeof meta_stream_taps},
    {"meta/task.lua", meta_task, sizeof meta_task},
    {"meta/trigger.lua", meta_trigger, sizeof meta_trigger},
    {"meta/zone.lua", meta_zone, sizeof meta_zone},
    {"party.lua", party, sizeof party},
    {"recorder.lua", recorder, sizeof recorder},
    {"remote.lua", remote, sizeof remote},
    {"roomtone/kept.lua", kept, sizeof kept},
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
