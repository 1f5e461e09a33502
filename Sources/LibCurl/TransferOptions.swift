import CLibCurl
import Glibc

/// Set-up that happens once in a process.
enum CurlLibrary {
    /// Whether libcurl is ready. Only one thread may set it up (curl_global_init(3)).
    static let isSetUp = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Whether the certificates that libcurl trusts are in the file that it was built to read.
    static let hasCertificateFile = {
        guard let version = unsafe curl_version_info(CURLVERSION_SEVENTH), let path = unsafe version.pointee.cainfo
        else { return false }
        return unsafe access(path, R_OK) == 0
    }()
}

/// Sets the options that all transfers share, and the given ones: no redirects, no proxy from the environment, no other
/// protocols, TLS 1.2 or later, and HTTP/1.1, because HTTP/2 has no advantage for one answer per connection.
func setOptions(_ handle: UnsafeMutableRawPointer, url: String, _ own: [(CURLoption, Int)]) -> CURLcode {
    let numbers: [(CURLoption, Int)] = [
        (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NOSIGNAL, 1), (CURLOPT_DISALLOW_USERNAME_IN_URL, 1),
        (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
    ]
    let texts: [(CURLoption, String)] = [
        // An empty proxy keeps libcurl from reading proxies from the environment.
        (CURLOPT_PROXY, ""), (CURLOPT_NOPROXY, "*"), (CURLOPT_PROTOCOLS_STR, "http,https"),
        (CURLOPT_USERAGENT, "sluice"), (CURLOPT_URL, url),
    ]
    for (option, value) in numbers + own {
        let code = unsafe sluice_curl_set_long(handle, option, value)
        guard code == CURLE_OK else { return code }
    }
    for (option, value) in texts {
        let code = unsafe sluice_curl_set_text(handle, option, value)
        guard code == CURLE_OK else { return code }
    }
    return CURLE_OK
}
