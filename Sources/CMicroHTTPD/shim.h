// Headers of libmicrohttpd, and fixed-arity twins of its variadic functions.
#ifndef SLUICE_CMICROHTTPD_SHIM_H
#define SLUICE_CMICROHTTPD_SHIM_H

#include <dlfcn.h>
#include <microhttpd.h>

/// `MHD_start_daemon` with the callbacks that this project sets and its other options in an array that ends with
/// `MHD_OPTION_END`. The logger comes first: libmicrohttpd would report a bad option on standard error otherwise.
static inline struct MHD_Daemon *sluice_start_daemon(
    unsigned int flags, void *context, MHD_LogCallback log, MHD_AccessHandlerCallback handle,
    void *(*target)(void *, const char *, struct MHD_Connection *), MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback notify, struct MHD_OptionItem *options)
{
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handle, context, MHD_OPTION_EXTERNAL_LOGGER, log, context, MHD_OPTION_URI_LOG_CALLBACK,
        target, context, MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_NOTIFY_CONNECTION, notify, context,
        MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/// libmicrohttpd's own `MHD_queue_response`, since there is one of ours of that name.
static inline enum MHD_Result sluice_queue_response(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response)
{
    typedef enum MHD_Result (*queue_response)(struct MHD_Connection *, unsigned int, struct MHD_Response *);
    static queue_response known;
    queue_response queue = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!queue) {
        // The pointer is RTLD_NEXT, which the C library declares for GNU programs only.
        queue = (queue_response)dlsym((void *)-1L, "MHD_queue_response");
        __atomic_store_n(&known, queue, __ATOMIC_RELAXED);
    }
    return queue ? queue(connection, status, response) : MHD_NO;
}

/// `MHD_get_daemon_info` for the descriptor of its epoll set, -1 where there is none.
static inline int sluice_epoll_descriptor(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

/// `MHD_get_daemon_info` for the number of open connections.
static inline unsigned int sluice_connection_count(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

/// `MHD_get_connection_info` for what `MHD_NotifyConnectionCallback` left with the socket.
static inline void *sluice_socket_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/// `MHD_get_connection_info` for the address of the client.
static inline const struct sockaddr *sluice_client_address(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

/// `MHD_get_connection_info` for the file descriptor of the socket, -1 where there is none.
static inline int sluice_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// `MHD_get_connection_info` for the bytes from the method to the empty line that ends the header section.
static inline size_t sluice_head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/// `MHD_get_connection_values_n` for the number of header fields and cookies.
static inline int sluice_value_count(struct MHD_Connection *connection)
{
    return MHD_get_connection_values_n(
        connection, (enum MHD_ValueKind)(MHD_HEADER_KIND | MHD_COOKIE_KIND), NULL, NULL);
}

/// `MHD_set_response_options` for an answer that is neither chunked nor followed by another on its connection.
static inline enum MHD_Result sluice_end_with_connection(struct MHD_Response *response)
{
    return MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

#endif
