// Headers of libpq, and the two of the system that its wrapper waits with.
#ifndef SLUICE_CLIBPQ_SHIM_H
#define SLUICE_CLIBPQ_SHIM_H

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>

#endif
