// Headers of libmicrohttpd, and fixed-arity twins of its variadic functions.
#ifndef SLUICE_CMICROHTTPD_SHIM_H
#define SLUICE_CMICROHTTPD_SHIM_H

#include <microhttpd.h>

#endif
