// Headers of OpenSSL's libcrypto, and functions for the macros that Swift cannot import.
#ifndef SLUICE_CLIBCRYPTO_SHIM_H
#define SLUICE_CLIBCRYPTO_SHIM_H

// OpenSSL 3.0 deprecates the state structures of SHA-256, SHA-1 and MD5 in favour of EVP, which allocates a block for
// each digest and for each copy of a state. These structures lie on the stack and are copied like a number.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

/// Whether an error of a reader of PEM says that nothing follows.
static inline int sluice_is_end_of_pem(unsigned long error)
{
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

#endif
