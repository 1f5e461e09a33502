import Foundation
public import HTTPServing
import HTTPTypes
public import Logging
public import Signing

/// A small S3-compatible object store for trying the gateway: presigned PUT, GET and HEAD, on files.
///
/// It accepts only Signature Version 4 in the query, and enforces everything that was signed. It refuses unknown
/// features with S3's `NotImplemented`, so nothing appears to work without having an effect. File operations block the
/// thread that serves the request: the store is made for one developer, not for load.
public final class EmbeddedStore: HTTPResponder {
    /// The settings of the store.
    public struct Configuration: Sendable {
        /// The only credential that the store accepts.
        public var credential: SigningCredential
        /// The region that signatures must name.
        public var region: String
        /// Directory of the objects; only one process at a time may use it.
        public var directory: String
        /// Origins whose pages may use the store in a browser; `nil` for all.
        public var allowedOrigins: [String]?
        /// Maximum size of an object in bytes; S3 accepts 5 GiB in one PUT.
        public var maxObjectBytes: Int64

        /// Creates a configuration.
        public init(
            credential: SigningCredential, region: String, directory: String, allowedOrigins: [String]? = nil,
            maxObjectBytes: Int64 = 5 << 30
        ) {
            self.credential = credential
            self.region = region
            self.directory = directory
            self.allowedOrigins = allowedOrigins
            self.maxObjectBytes = maxObjectBytes
        }
    }

    let configuration: Configuration
    let files: ObjectFiles
    let now: @Sendable () -> SigningInstant
    private let verifier: V4Verifier
    private let logger: Logger

    /// Maximum time, in seconds, by which a URL's signing time may be in the future, as in S3.
    private static let clockToleranceSeconds = 900

    /// Opens the store; creates its directory if needed.
    ///
    /// - Parameter now: The store's clock.
    /// - Throws: An error of the file system if the directory cannot be created.
    public init(_ configuration: Configuration, logger: Logger, now: @escaping @Sendable () -> SigningInstant) throws {
        self.configuration = configuration
        self.now = now
        self.logger = logger
        files = try ObjectFiles(directory: configuration.directory)
        let credential = configuration.credential
        verifier = V4Verifier(
            scope: .aws(region: configuration.region), clockToleranceSeconds: Self.clockToleranceSeconds
        ) { $0 == credential.accessKeyID ? credential : nil }
    }

    /// Creates a bucket, if it does not exist.
    ///
    /// - Throws: ``EmbeddedStoreError/invalidBucketName(_:)``, or an error of the file system.
    public func makeBucket(_ name: String) throws {
        guard ObjectName.isValidBucket(name) else { throw EmbeddedStoreError.invalidBucketName(name) }
        try files.makeBucket(name)
    }

    /// Plans a request: bodies of uploads are streamed, and other methods have no body.
    public func begin(_ head: RequestHead) -> RequestPlan {
        RequestPlan(head.method == .put ? .stream(maxBytes: configuration.maxObjectBytes) : .collect(maxBytes: 0))
    }

    /// Answers a request. A refusal is answered with an error in S3's format.
    public func respond(to request: ServerRequest) async -> ServerResponse {
        var response: ServerResponse
        do {
            response = try await answer(to: request)
        } catch let error as StoreError {
            response = self.response(to: error, path: request.head.target)
        } catch let error as RequestBodyError {
            response = self.response(to: storeError(for: error), path: request.head.target)
        } catch {
            logger.error("The embedded store failed", metadata: ["error": "\(error)"])
            response = self.response(to: .internalError, path: request.head.target)
        }
        StoreOrigins(configuration.allowedOrigins).complete(&response.head, for: request.head)
        return response
    }

    /// Answers a failure detected by the server itself with an error in the same format.
    public func response(to failure: ServerFailure) -> ServerResponse {
        let error =
            switch failure {
            case .badRequest(let reason): StoreError.invalidRequest(reason)
            case .requestTimeout: StoreError.requestTimeout
            case .contentTooLarge(let maxBytes): StoreError.entityTooLarge(maxBytes: maxBytes)
            case .uriTooLong:
                StoreError(status: failure.status, code: "KeyTooLongError", message: "The URL is too long.")
            case .expectationFailed: StoreError.notImplemented("No expectation but 100-continue is met.")
            case .headerFieldsTooLarge:
                StoreError(
                    status: failure.status, code: "RequestHeaderSectionTooLarge",
                    message: "Your request header section exceeds the maximum allowed size.")
            case .unavailable: StoreError.unavailable
            }
        return response(to: error, path: nil)
    }

    private func answer(to request: ServerRequest) async throws -> ServerResponse {
        if request.head.method == .options {
            return try StoreOrigins(configuration.allowedOrigins).preflight(request.head)
        }
        let instant = now()
        let (name, query) = try authorize(request.head, at: instant)
        guard ObjectName.isValidBucket(name.bucket), files.hasBucket(name.bucket) else { throw StoreError.noSuchBucket }
        let fields = RequestFields(request.head, query: query)
        switch request.head.method {
        case .put:
            return try await put(
                name, PutRequest(fields, maxBytes: configuration.maxObjectBytes), request.body, at: instant)
        default:
            return try get(name, fields, query: query)
        }
    }

    /// Verifies that the URL was signed for this request, and that the store supports the operation.
    private func authorize(
        _ head: RequestHead, at instant: SigningInstant
    ) throws(StoreError) -> (ObjectName, [NamedValue]) {
        guard [.get, .head, .put].contains(head.method) else {
            throw .notImplemented("This store has PUT, GET and HEAD of objects only.")
        }
        let request = ReceivedRequest(
            method: head.method.rawValue,
            target: head.target,
            headers: head.headerFields.map { NamedValue($0.name.canonicalName, $0.value) }
        )
        let verified = try verifier.verifyAsStore(request, at: instant)
        for parameter in verified.query where Self.subresources.contains(parameter.name.lowercased()) {
            throw .notImplemented("This store does not know the parameter \(parameter.name).")
        }
        return (try ObjectName(path: verified.path, authority: head.authority), verified.query)
    }

    /// Query parameters that turn a request into a different operation.
    private static let subresources: Set<String> = [
        "acl", "attributes", "encryption", "legal-hold", "partnumber", "policy", "renameobject", "restore", "retention",
        "select", "select-type", "tagging", "torrent", "uploadid", "uploads", "versionid", "versions",
    ]

    private func storeError(for error: RequestBodyError) -> StoreError {
        switch error {
        case .disconnected: .incompleteBody
        case .timedOut: .requestTimeout
        case .tooLarge: .entityTooLarge(maxBytes: configuration.maxObjectBytes)
        case .noMemory: .unavailable
        }
    }

    private func response(to error: StoreError, path: String?) -> ServerResponse {
        let requestID = UUID().uuidString
        let resource = path.map { String($0.prefix { $0 != "?" }) } ?? ""
        var fields: HeaderFields = [.contentType: "application/xml"]
        fields.set("x-amz-request-id", to: requestID)
        return ServerResponse(
            head: ResponseHead(status: error.status, headerFields: fields),
            body: .bytes(error.xml(resource: resource, requestID: requestID)))
    }
}

/// The reason why the embedded store cannot be set up.
public enum EmbeddedStoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name does not follow S3's rules for bucket names.
    case invalidBucketName(String)

    /// A sentence for the person at the terminal.
    public var description: String {
        switch self {
        case .invalidBucketName(let name): "\"\(name)\" is not a valid name of a bucket."
        }
    }
}
