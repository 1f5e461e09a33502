// Headers of libpq.
#ifndef SLUICE_CLIBPQ_SHIM_H
#define SLUICE_CLIBPQ_SHIM_H

#include <libpq-fe.h>

#endif
