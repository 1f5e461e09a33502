import CLibCurl

/// One HTTP request whose bodies need not fit into memory, from a program to a server that its user chose.
///
/// Nothing is taken from the environment: no proxy, cookies or `.netrc`. Redirects are answers like others.
/// Certificates are verified against the system's.
///
/// The call blocks its thread, and so do the closures that read and write files for it: for commands, which do nothing
/// else meanwhile. What serves others makes an ``HTTPTransfer``.
public struct StreamedTransfer: Sendable {
    /// The body of a request.
    public enum Upload: Sendable {
        /// There is none.
        case none
        /// Bytes that come by and by: at most as many as asked for, none at the end, `nil` to give up.
        case stream(length: Int64?, @Sendable (_ most: Int) -> [UInt8]?)
    }

    /// The head of an answer.
    public struct Head: Sendable {
        /// The status.
        public let status: Int
        /// Name and value of each header field, in order.
        public let fields: [(name: String, value: String)]

        /// Value of the first field of that name, whatever its case.
        public subscript(name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// Why there is no whole answer.
    public enum Failure: Error, Equatable {
        /// A header has a line break in it.
        case malformedHeader
        /// One of the closures gave up.
        case givenUp
        /// What libcurl says of anything else.
        case failed(String)
    }

    private let method: String
    private let url: String
    private let fields: [HTTPTransfer.Field]
    private let upload: Upload
    private let connectTimeout: Duration
    private let idleTimeout: Duration

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - method: For example `GET`.
    ///   - url: An absolute `http` or `https` URL.
    ///   - fields: Further header fields.
    ///   - upload: The body.
    ///   - connectTimeout: Time until the connection stands.
    ///   - idleTimeout: Time in which nothing at all may move before the transfer is given up.
    public init(
        _ method: String, _ url: String, fields: [HTTPTransfer.Field], upload: Upload = .none,
        connectTimeout: Duration, idleTimeout: Duration
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.upload = upload
        self.connectTimeout = connectTimeout
        self.idleTimeout = idleTimeout
    }

    /// Sends the request and hands over the answer's body as it arrives.
    ///
    /// - Parameter receive: Takes the next bytes; `false` ends the transfer.
    /// - Returns: The head, once the body is at its end.
    public func perform(
        receive: @escaping @Sendable (Head, [UInt8]) -> Bool
    ) throws(Failure) -> Head {
        guard CurlLibrary.isSetUp, let handle = unsafe curl_easy_init() else { throw .failed("libcurl cannot start") }
        defer { unsafe curl_easy_cleanup(handle) }
        guard let headers = HeaderLines(fields) else { throw .malformedHeader }
        let streams = TransferStreams(upload: upload, receive: receive)
        // The handle refers to the headers and to the streams.
        let code = withExtendedLifetime(headers) {
            var code = unsafe configure(handle)
            if code == CURLE_OK { code = unsafe headers.attach(to: handle) }
            return code == CURLE_OK ? withExtendedLifetime(streams) { unsafe perform(handle, streams) } : code
        }
        if streams.gaveUp { throw .givenUp }
        guard code == CURLE_OK else { throw .failed(unsafe String(cString: curl_easy_strerror(code))) }
        return streams.head
    }

    private func perform(_ handle: UnsafeMutableRawPointer, _ streams: TransferStreams) -> CURLcode {
        var code = unsafe streams.attach(to: handle)
        // Named last: an upload would make it PUT.
        if code == CURLE_OK { code = unsafe sluice_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, method) }
        return code == CURLE_OK ? unsafe curl_easy_perform(handle) : code
    }

    private func configure(_ handle: UnsafeMutableRawPointer) -> CURLcode {
        let seconds = max(1, Int(idleTimeout / .seconds(1)))
        return unsafe setOptions(
            handle, url: url,
            [
                (CURLOPT_PATH_AS_IS, 1), (CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(connectTimeout / .milliseconds(1)))),
                // Less than a byte a second, for so long.
                (CURLOPT_LOW_SPEED_LIMIT, 1), (CURLOPT_LOW_SPEED_TIME, seconds),
            ])
    }
}
