#pragma once
#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/uri.h>

// xmlFree is a variable that holds a function.
static inline void shim_xml_free(void *memory) { xmlFree(memory); }

// A macro that reads a variable of the thread.
static inline const char *shim_xml_version(void) { return xmlParserVersion; }
