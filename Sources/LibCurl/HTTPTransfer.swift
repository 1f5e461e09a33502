import CLibCurl
import Dispatch
import Synchronization

/// One HTTP request and its answer, on a connection of its own.
///
/// Nothing is taken from the environment or from other requests: no proxy, cookies, cache, `.netrc` or kept connections.
/// Redirects are answers like others. Certificates are verified against the system's.
public struct HTTPTransfer: Sendable {
    /// What is asked for.
    public enum Method: Sendable, Equatable {
        /// The body too.
        case get
        /// The head alone.
        case head
        /// What the body asks for; the type of the body is among the headers.
        case post(body: [UInt8])
        /// That the body lies there; its type is among the headers.
        case put(body: [UInt8])
        /// What may be asked for, as browsers do before they ask.
        case options
        /// That what lies there goes.
        case delete
    }

    /// A header field that is sent besides those that every request has.
    public struct Field: Sendable, Equatable {
        /// A token.
        public var name: String
        /// Without line breaks.
        public var value: String

        /// Pairs a name with a value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// An answer, whatever its status.
    public struct Answer: Sendable {
        /// The status.
        public let status: Int
        /// The length that the head states, if it does.
        public let contentLength: Int64?
        /// The body; empty for ``Method/head``.
        public let body: [UInt8]
        /// The fields of the head, in order.
        public let fields: [Field]

        /// The value of a field that stands there once; names compare without regard to case.
        public func field(_ name: String) -> String? {
            let matches = fields.filter { $0.name.lowercased() == name.lowercased() }
            return matches.count == 1 ? matches.first?.value : nil
        }
    }

    /// Why there is no answer.
    public enum Failure: Error, Equatable {
        /// Every address of the host was refused.
        case addressRefused
        /// The body is longer than allowed, or the head is longer than 16 KiB.
        case tooLarge
        /// There was no whole answer in time.
        case timedOut
        /// A header has a line break in it.
        case malformedHeader
        /// The task was cancelled.
        case cancelled
        /// The name stands for no address.
        case nameNotFound
        /// No address took the connection.
        case notConnected
        /// There is no TLS with the other side, or its certificate is not one for the name.
        case tls
        /// libcurl's own number for anything else.
        case other(code: UInt32)
    }

    /// Answers whether a connection to an address may be opened, just before it is: its 4 or 16 bytes in network order.
    public typealias AddressCheck = @Sendable (_ address: [UInt8]) -> Bool

    private let url: String
    private let method: Method
    private let fields: [Field]
    private let maxBytes: Int
    private let timeout: Duration
    private let permits: AddressCheck

    private static let queue = DispatchQueue(label: "sluice.curl", attributes: .concurrent)
    // Dispatched to before any other thread can call libcurl: it must be set up by one alone.
    static let isSetUp = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - method: What is asked for.
    ///   - url: An absolute `http` or `https` URL without user and password.
    ///   - fields: Further header fields.
    ///   - maxBytes: Longest body that is taken.
    ///   - timeout: Time for all of it, from the look-up of the name to the last byte.
    ///   - permits: Decides about each address that the name stands for.
    public init(
        _ method: Method, _ url: String, fields: [Field] = [], maxBytes: Int, timeout: Duration,
        permits: @escaping AddressCheck
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.maxBytes = maxBytes
        self.timeout = timeout
        self.permits = permits
    }

    /// Sends the request and waits for the answer, on a thread that may block.
    public func perform() async throws(Failure) -> Answer {
        let progress = TransferProgress(maxBytes: maxBytes, permits: permits)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Self.queue.async { continuation.resume(returning: run(progress)) }
            }
        } onCancel: {
            progress.cancel()
        }
        return try result.get()
    }

    private func run(_ progress: TransferProgress) -> Result<Answer, Failure> {
        guard Self.isSetUp, let handle = unsafe curl_easy_init() else {
            return .failure(.other(code: CURLE_FAILED_INIT.rawValue))
        }
        guard let headers = HeaderLines(fields) else { return .failure(.malformedHeader) }
        defer { unsafe curl_easy_cleanup(handle) }
        // The handle refers to the headers.
        let code = withExtendedLifetime(headers) {
            var code = unsafe configure(handle)
            if code == CURLE_OK { code = unsafe headers.attach(to: handle, method) }
            if code == CURLE_OK { code = unsafe progress.attach(to: handle) }
            return code == CURLE_OK ? unsafe curl_easy_perform(handle) : code
        }
        guard code == CURLE_OK else { return .failure(failure(code, progress)) }
        let length = unsafe sluice_curl_content_length(handle)
        return .success(
            Answer(
                status: unsafe sluice_curl_status(handle), contentLength: length < 0 ? nil : length,
                body: progress.takeBody(), fields: progress.takeFields()
            )
        )
    }

    private func failure(_ code: CURLcode, _ progress: TransferProgress) -> Failure {
        if let failure = progress.failure { return failure }
        if progress.isRefused { return .addressRefused }
        return switch code {
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_COULDNT_RESOLVE_HOST: .nameNotFound
        case CURLE_COULDNT_CONNECT: .notConnected
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR: .tls
        default: .other(code: code.rawValue)
        }
    }

    private func configure(_ handle: UnsafeMutableRawPointer) -> CURLcode {
        let milliseconds = Int(timeout / .milliseconds(1))
        return unsafe setOptions(
            handle, url: url,
            [
                (CURLOPT_NOBODY, method == .head ? 1 : 0), (CURLOPT_TIMEOUT_MS, max(1, milliseconds)),
                (CURLOPT_CONNECTTIMEOUT_MS, max(1, milliseconds)), (CURLOPT_FORBID_REUSE, 1),
            ])
    }
}
