// Headers of zlib, and a function for the macro that Swift cannot import.
#ifndef SLUICE_CLIBZ_SHIM_H
#define SLUICE_CLIBZ_SHIM_H

#include <zlib.h>

/// `deflateInit2` for a gzip stream (RFC 1952) with all the memory that zlib can use.
static inline int sluice_deflate_init_gzip(z_stream *stream, int level)
{
    return deflateInit2(stream, level, Z_DEFLATED, MAX_WBITS + 16, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
}

#endif
