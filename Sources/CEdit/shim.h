// libedit's commands of a line, without its screen: what it draws goes to /dev/null.
#pragma once
#include <fcntl.h>
#include <histedit.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>
#include "../CLinux/library.h"

#define EDIT_FUNCTIONS(each) \
  each(el_cursor)            \
  each(el_deletestr)         \
  each(el_end)               \
  each(el_init_fd)           \
  each(el_source)            \
  each(el_wget)              \
  each(el_wgets)             \
  each(el_winsertstr)        \
  each(el_wline)             \
  each(el_wset)
LIBRARY(edit, EDIT_FUNCTIONS)

/// Reads the next character of a key into `character`: returns 1, or 0 when none is left.
typedef int (*edit_reader)(EditLine *line, wchar_t *character);

/// Opens an editor of one line for the terminal at `terminal`, which it leaves open. The bindings are those of emacs, and
/// of the user's ~/.editrc. Returns NULL when `terminal` is not a terminal.
static inline EditLine *edit_open(struct edit_library edit, int terminal, edit_reader read) {
  int copy = fcntl(terminal, F_DUPFD_CLOEXEC, 3);
  FILE *in = copy >= 0 ? fdopen(copy, "r") : NULL;
  FILE *nowhere = fopen("/dev/null", "w");
  if (in == NULL || nowhere == NULL || !isatty(terminal)) {
    if (in != NULL) fclose(in);
    else if (copy >= 0) close(copy);
    if (nowhere != NULL) fclose(nowhere);
    return NULL;
  }
  EditLine *line = edit.el_init_fd("roomtone", in, nowhere, nowhere, copy, copy, fileno(nowhere));
  if (line == NULL) {
    fclose(in);
    fclose(nowhere);
    return NULL;
  }
  edit.el_wset(line, EL_SIGNAL, 0);
  edit.el_wset(line, EL_EDITOR, L"emacs");
  edit.el_wset(line, EL_GETCFN, read);
  edit.el_source(line, NULL);
  return line;
}

static inline void edit_close(struct edit_library edit, EditLine *line) {
  FILE *in = NULL, *out = NULL;
  edit.el_wget(line, EL_GETFP, 0, &in);
  edit.el_wget(line, EL_GETFP, 1, &out);
  edit.el_end(line);
  if (in != NULL) fclose(in);
  if (out != NULL) fclose(out);
}

/// Sets the value that `edit_context` returns to the reader.
static inline void edit_set_context(struct edit_library edit, EditLine *line, void *context) {
  edit.el_wset(line, EL_CLIENTDATA, context);
}

static inline void *edit_context(struct edit_library edit, EditLine *line) {
  void *context = NULL;
  edit.el_wget(line, EL_CLIENTDATA, &context);
  return context;
}

/// Has the terminal deliver single keys, without echo, and empties the line (1); or restores the terminal (0).
static inline void edit_set_active(struct edit_library edit, EditLine *line, int active) {
  edit.el_wset(line, EL_UNBUFFERED, active);
}
