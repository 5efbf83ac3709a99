// Functions of a library that is loaded at its first use, for Swift's `SharedLibrary` to fill in.
//
//   #define EDIT_FUNCTIONS(each) each(el_end) each(el_wgets)
//   LIBRARY(edit, EDIT_FUNCTIONS)  // struct edit_library with the fields el_end and el_wgets, and edit_names()
//
// The types are those of the library's own header. The functions themselves can't be called: no program is linked to
// them.
#pragma once

#define LIBRARY_FIELD(function) __typeof__(&function) _Nonnull function;
#define LIBRARY_NAME(function) #function " "

// Sendable: the pointers stay as they are while the process lives.
#define LIBRARY(name, FUNCTIONS)                                     \
  struct __attribute__((swift_attr("@Sendable"))) name##_library {   \
    FUNCTIONS(LIBRARY_FIELD)                                         \
  };                                                                 \
  static inline const char *_Nonnull name##_names(void) {            \
    return FUNCTIONS(LIBRARY_NAME);                                  \
  }
