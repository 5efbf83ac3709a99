/* The files of stdlib/ that a program needs, as they were when it was compiled: inside it, in its read-only data. */
#ifndef C_STANDARD_LIBRARY_H
#define C_STANDARD_LIBRARY_H

#include <stddef.h>

typedef struct {
  /* Relative to stdlib/. */
  const char *path;
  const unsigned char *bytes;
  size_t size;
} standard_library_file;

/* Returns the file with this number, from 0; NULL after the last one. */
const standard_library_file *standard_library_file_at(size_t number);

#endif
