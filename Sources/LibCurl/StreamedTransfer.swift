import CLibCurl

/// One HTTP request with streamed bodies, from a program to a server that its user chose.
///
/// It uses nothing from the environment: no proxy, cookies or `.netrc`. Redirects are not followed. Certificates are
/// verified against the system's.
///
/// The call blocks its thread, as do the closures that read and write files for it. It is meant for commands, which do
/// nothing else meanwhile. Servers use ``HTTPTransfer``.
public struct StreamedTransfer: Sendable {
    /// The body of a request.
    public enum Upload: Sendable {
        /// No body.
        case none
        /// A closure that returns the next bytes: at most as many as asked for, none at the end, `nil` to give up.
        case stream(length: Int64?, @Sendable (_ most: Int) -> [UInt8]?)
    }

    /// The head of an answer.
    public struct Head: Sendable {
        /// The status.
        public let status: Int
        /// Names and values of the header fields, in order.
        public let fields: [(name: String, value: String)]

        /// Value of the first field with that name. Names compare regardless of case.
        public subscript(name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// Why there is no whole answer.
    public enum Failure: Error, Equatable {
        /// A header contains a line break.
        case malformedHeader
        /// One of the closures gave up.
        case givenUp
        /// The name of the host has no address. As in the cases below, the text is libcurl's.
        case notFound(String)
        /// Nothing accepts connections at the address.
        case notConnected(String)
        /// The certificate is not trusted, or is that of another host.
        case notTrusted(String)
        /// The server does not speak TLS, or no version or cipher that both know.
        case notSecured(String)
        /// A time ran out.
        case late(String)
        /// Any other error.
        case failed(String)

        fileprivate init(_ code: CURLcode) {
            let reason = unsafe String(cString: curl_easy_strerror(code))
            self =
                switch code {
                case CURLE_COULDNT_RESOLVE_HOST: .notFound(reason)
                case CURLE_COULDNT_CONNECT: .notConnected(reason)
                case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .notTrusted(reason)
                case CURLE_SSL_CONNECT_ERROR: .notSecured(reason)
                case CURLE_OPERATION_TIMEDOUT: .late(reason)
                default: .failed(reason)
                }
        }
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
    ///   - connectTimeout: Time for opening the connection.
    ///   - idleTimeout: Time without any progress after which the transfer is given up.
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
    /// - Returns: The head, once the whole body has arrived.
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
        guard code == CURLE_OK else { throw Failure(code) }
        return streams.head
    }

    private func perform(_ handle: UnsafeMutableRawPointer, _ streams: TransferStreams) -> CURLcode {
        var code = unsafe streams.attach(to: handle)
        // The method is set last, because an upload sets it to PUT.
        if code == CURLE_OK { code = unsafe sluice_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, method) }
        return code == CURLE_OK ? unsafe curl_easy_perform(handle) : code
    }

    private func configure(_ handle: UnsafeMutableRawPointer) -> CURLcode {
        let seconds = max(1, Int(idleTimeout / .seconds(1)))
        return unsafe setOptions(
            handle, url: url,
            [
                (CURLOPT_PATH_AS_IS, 1), (CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(connectTimeout / .milliseconds(1)))),
                // The transfer ends after this many seconds at less than one byte a second.
                (CURLOPT_LOW_SPEED_LIMIT, 1), (CURLOPT_LOW_SPEED_TIME, seconds),
            ])
    }
}
