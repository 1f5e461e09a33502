// Headers of OpenSSL's libcrypto, and functions for those of its macros that Swift cannot import.
#ifndef SLUICE_CLIBCRYPTO_SHIM_H
#define SLUICE_CLIBCRYPTO_SHIM_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#endif
