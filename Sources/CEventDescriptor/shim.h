// eventfd(2) and epoll(7), which the module of the C library leaves out.
#ifndef SLUICE_CEVENTDESCRIPTOR_SHIM_H
#define SLUICE_CEVENTDESCRIPTOR_SHIM_H

#include <sys/epoll.h>
#include <sys/eventfd.h>

#endif
