#pragma once
#include <taglib/tag_c.h>
#include "../CLinux/library.h"

#define TAG_FUNCTIONS(each)    \
  each(taglib_file_free)       \
  each(taglib_file_is_valid)   \
  each(taglib_file_new_type)   \
  each(taglib_file_save)       \
  each(taglib_file_tag)        \
  each(taglib_tag_set_album)   \
  each(taglib_tag_set_artist)  \
  each(taglib_tag_set_comment) \
  each(taglib_tag_set_genre)   \
  each(taglib_tag_set_title)   \
  each(taglib_tag_set_track)
LIBRARY(tag, TAG_FUNCTIONS)
