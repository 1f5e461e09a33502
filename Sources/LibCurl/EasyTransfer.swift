import CLibCurl

/// Owns an easy handle and the addresses that it may connect to.
@safe struct EasyHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer
    private let share: UnsafeMutableRawPointer
    private let addresses: UnsafeMutablePointer<curl_slist>

    /// Makes a handle that connects to these addresses, whatever host its URL names; `nil` without memory.
    ///
    /// The addresses are in a share (libcurl-share(3)) that no other handle uses, because the cache of the multi handle
    /// would pass them on to transfers with other addresses. One thread uses the share, so it needs no locks.
    init?(port: Int, addresses texts: [String]) {
        let list = texts.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
        guard CurlLibrary.isSetUp, let pointer = unsafe curl_easy_init() else { return nil }
        guard let share = unsafe curl_share_init() else {
            unsafe curl_easy_cleanup(pointer)
            return nil
        }
        guard let addresses = unsafe curl_slist_append(nil, "*:\(port):\(list)") else {
            unsafe curl_easy_cleanup(pointer)
            unsafe curl_share_cleanup(share)
            return nil
        }
        unsafe self.pointer = pointer
        unsafe self.share = share
        unsafe self.addresses = addresses
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe curl_share_cleanup(share)
        unsafe curl_slist_free_all(addresses)
    }

    /// Sets the addresses. libcurl never looks up a name: it would do so on a thread of its own, and freeing or
    /// removing the handle would wait for that thread.
    func attachAddresses() -> CURLcode {
        guard unsafe sluice_curl_share_addresses(share) == CURLSHE_OK else { return CURLE_FAILED_INIT }
        let refuse: curl_resolver_start_callback = { _, _, _ in 1 }
        return unsafe sluice_curl_set_addresses(pointer, share, addresses, refuse)
    }
}

/// A transfer in libcurl.
///
/// Retain contract: libcurl keeps pointers to `progress` and to the headers while the handle exists. Both live as long
/// as this object, which ``TransferDesk`` holds from before curl_multi_add_handle(3) until after
/// curl_multi_remove_handle(3).
@safe final class EasyTransfer {
    let handle: EasyHandle
    private let headers: HeaderLines
    private let progress: TransferProgress

    /// Prepares a transfer.
    ///
    /// - Parameters:
    ///   - transfer: The request.
    ///   - addresses: The addresses of its host, as text.
    ///   - timeout: The time that is left for it.
    init(_ transfer: HTTPTransfer, addresses: [String], timeout: Duration) throws(HTTPTransfer.Failure) {
        guard let headers = HeaderLines(transfer.fields) else { throw .malformedHeader }
        guard let handle = EasyHandle(port: transfer.origin.port, addresses: addresses) else {
            throw .other(code: CURLE_FAILED_INIT.rawValue)
        }
        let progress = TransferProgress(maxBytes: transfer.maxBytes, permits: transfer.permits)
        var code = unsafe Self.configure(handle.pointer, transfer, timeout)
        if code == CURLE_OK { code = handle.attachAddresses() }
        if code == CURLE_OK { code = unsafe headers.attach(to: handle.pointer, transfer.method) }
        if code == CURLE_OK { code = unsafe progress.attach(to: handle.pointer) }
        guard code == CURLE_OK else { throw .other(code: code.rawValue) }
        self.handle = handle
        self.headers = headers
        self.progress = progress
    }

    /// Identifies the transfer among those that exist.
    var identity: UInt { unsafe UInt(bitPattern: handle.pointer) }

    /// The result of the transfer, once it has ended with this code.
    func result(_ code: CURLcode) -> Result<HTTPTransfer.Answer, HTTPTransfer.Failure> {
        guard code == CURLE_OK else { return .failure(failure(code)) }
        let length = unsafe sluice_curl_content_length(handle.pointer)
        return .success(
            HTTPTransfer.Answer(
                status: unsafe sluice_curl_status(handle.pointer), contentLength: length < 0 ? nil : length,
                body: progress.takeBody(), fields: progress.takeFields()
            )
        )
    }

    private func failure(_ code: CURLcode) -> HTTPTransfer.Failure {
        if let failure = progress.failure { return failure }
        if progress.isRefused { return .addressRefused }
        return switch code {
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_COULDNT_RESOLVE_HOST: .nameNotFound
        case CURLE_COULDNT_CONNECT: .notConnected
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER: .tls
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: .notTrusted
        default: .other(code: code.rawValue)
        }
    }

    private static func configure(
        _ handle: UnsafeMutableRawPointer, _ transfer: HTTPTransfer, _ timeout: Duration
    ) -> CURLcode {
        let code = unsafe setOptions(
            handle, url: transfer.url,
            [
                (CURLOPT_NOBODY, transfer.method == .head ? 1 : 0),
                // ``TransferDesk`` enforces the deadline. libcurl uses this timeout to divide the time between several
                // addresses.
                (CURLOPT_TIMEOUT_MS, max(1, Int(timeout / .milliseconds(1)))),
                (CURLOPT_FRESH_CONNECT, 1), (CURLOPT_FORBID_REUSE, 1), (CURLOPT_SSL_SESSIONID_CACHE, 0),
                (CURLOPT_CA_CACHE_TIMEOUT, 600),
            ])
        // Reading the certificates takes 40 ms, during which no other transfer proceeds. libcurl caches certificates
        // from a file (CURLOPT_CA_CACHE_TIMEOUT(3)), but not if there is also a folder. Debian has both, with the same
        // certificates.
        guard code == CURLE_OK, CurlLibrary.hasCertificateFile else { return code }
        return unsafe sluice_curl_set_no_certificate_folder(handle)
    }
}
