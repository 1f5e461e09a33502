// Headers of libpq, and of what its wrapper waits with.
#ifndef SLUICE_CLIBPQ_SHIM_H
#define SLUICE_CLIBPQ_SHIM_H

#include <libpq-fe.h>
#include <poll.h>

#endif
