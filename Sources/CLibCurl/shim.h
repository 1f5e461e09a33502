// Headers of libcurl, system headers for opening sockets, and fixed-arity twins of libcurl's variadic functions.
#ifndef SLUICE_CLIBCURL_SHIM_H
#define SLUICE_CLIBCURL_SHIM_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

/// `curl_easy_setopt` for an option that takes a number.
static inline CURLcode sluice_curl_set_long(CURL *handle, CURLoption option, long value)
{
    return curl_easy_setopt(handle, option, value);
}

/// `curl_easy_setopt` for an option that takes a text, which libcurl copies.
static inline CURLcode sluice_curl_set_text(CURL *handle, CURLoption option, const char *value)
{
    return curl_easy_setopt(handle, option, value);
}

/// `curl_easy_setopt` for a body, which libcurl copies, and the lines of headers, which must outlive the transfer. It
/// sets the method to `POST`, which can be changed afterwards.
static inline CURLcode sluice_curl_set_body(CURL *handle, const void *bytes, long length, struct curl_slist *headers)
{
    CURLcode code = curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, length);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, bytes);
    return code;
}

/// `curl_easy_setopt` for the lines of headers, which must outlive the transfer.
static inline CURLcode sluice_curl_set_headers(CURL *handle, struct curl_slist *headers)
{
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
}

/// `curl_easy_setopt` with the callbacks that this project sets, all with the same context.
static inline CURLcode sluice_curl_set_callbacks(
    CURL *handle, void *context, curl_write_callback body, curl_write_callback header,
    curl_opensocket_callback open_socket)
{
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, header);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, context);
    return code;
}

/// `curl_easy_setopt` for the addresses of a transfer's host: the share that keeps them, the list of them, and the
/// callback before a name is looked up. Share and list must outlive the transfer.
static inline CURLcode sluice_curl_set_addresses(
    CURL *handle, CURLSH *share, struct curl_slist *addresses, curl_resolver_start_callback look_up)
{
    CURLcode code = curl_easy_setopt(handle, CURLOPT_SHARE, share);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_RESOLVE, addresses);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_RESOLVER_START_FUNCTION, look_up);
    return code;
}

/// `curl_share_setopt` for a share of addresses.
static inline CURLSHcode sluice_curl_share_addresses(CURLSH *share)
{
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
}

/// `curl_easy_setopt` that takes the folder of certificates away, which leaves the file of certificates.
static inline CURLcode sluice_curl_set_no_certificate_folder(CURL *handle)
{
    return curl_easy_setopt(handle, CURLOPT_CAPATH, NULL);
}

/// `curl_easy_setopt` for a transfer with streamed bodies. All callbacks get the same context. `upload_length` is -1
/// for a request body of unknown length, and -2 without a body.
static inline CURLcode sluice_curl_set_streams(
    CURL *handle, void *context, curl_read_callback read, curl_write_callback body, curl_write_callback header,
    long long upload_length)
{
    CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, header);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
    if (code != CURLE_OK || upload_length == -2) return code;
    code = curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, read);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_READDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t) upload_length);
    return code;
}

/// `curl_easy_getinfo` for the status of the answer; 0 where there is none.
static inline long sluice_curl_status(CURL *handle)
{
    long status = 0;
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

/// `curl_easy_getinfo` for the stated length of the answer's body; -1 where there is none.
static inline long long sluice_curl_content_length(CURL *handle)
{
    curl_off_t length = -1;
    return curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length) == CURLE_OK ? length : -1;
}

#endif
