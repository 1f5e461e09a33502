// Headers of libpq, and of what its wrapper waits with.
#ifndef SLUICE_CLIBPQ_SHIM_H
#define SLUICE_CLIBPQ_SHIM_H

#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <poll.h>

// The number of bytes that TLS has decrypted and libpq has not read; 0 without TLS.
static inline int sluice_bytes_in_tls(PGconn *connection) {
    SSL *tls = PQsslStruct(connection, "OpenSSL");
    return tls == NULL ? 0 : SSL_pending(tls);
}

#endif
