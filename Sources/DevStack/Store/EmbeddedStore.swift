import FoundationEssentials
public import HTTPServing
import HTTPTypes
public import Logging
public import Signing

/// A small object store for trying the gateway, on files. It speaks the languages of Amazon S3 and Alibaba OSS, and
/// opens sessions as their token services do.
///
/// ``StoreOperation/table`` lists what it does. It enforces everything that was signed, with code of its own. It
/// refuses unknown features with `NotImplemented`, so nothing appears to work without having an effect. File operations
/// block the thread that serves the request: the store is made for one developer, not for load, and not for data that
/// matters.
public final class EmbeddedStore: HTTPResponder {
    /// The settings of the store.
    public struct Configuration: Sendable {
        /// The credential that the store accepts, besides the sessions that it opens for this credential.
        public var credential: SigningCredential
        /// The region that signatures of AWS must name.
        public var region: String
        /// The region that signatures of OSS must name, such as `cn-hangzhou`.
        var ossRegion: String
        /// Directory of the objects; only one process at a time may use it.
        public var directory: String
        /// Origins whose pages may use the store in a browser; `nil` for all.
        public var allowedOrigins: [String]?
        /// Maximum size of an object in bytes; the stores accept 5 GiB in one PUT.
        var maxObjectBytes: Int64
        /// Where the store reports what arrives; `nil` to report nothing.
        public var outlet: StoreOutlet?

        /// Creates a configuration.
        public init(
            credential: SigningCredential, region: String, ossRegion: String = "cn-hangzhou", directory: String,
            allowedOrigins: [String]? = nil, maxObjectBytes: Int64 = 5 << 30, outlet: StoreOutlet? = nil
        ) {
            self.credential = credential
            self.region = region
            self.ossRegion = ossRegion
            self.directory = directory
            self.allowedOrigins = allowedOrigins
            self.maxObjectBytes = maxObjectBytes
            self.outlet = outlet
        }
    }

    private let configuration: Configuration
    let objects: ObjectService
    private let now: @Sendable () -> SigningInstant
    let verifier: StoreVerifier
    private let awsTokens: AWSTokenService
    private let alibabaTokens: AlibabaTokenService
    private let logger: Logger

    /// What a form may have besides its file, in bytes.
    private static let maxFormExtra: Int64 = 64 << 10

    /// Opens the store; creates its directory if needed.
    ///
    /// - Parameter now: The store's clock.
    /// - Throws: An error of the file system if the directory cannot be created.
    public init(_ configuration: Configuration, logger: Logger, now: @escaping @Sendable () -> SigningInstant) throws {
        self.configuration = configuration
        self.now = now
        self.logger = logger
        objects = ObjectService(
            files: try ObjectFiles(directory: configuration.directory),
            maxObjectBytes: configuration.maxObjectBytes, outlet: configuration.outlet)
        let keys = StoreKeys(configuration.credential)
        verifier = StoreVerifier(keys: keys, region: configuration.region, ossRegion: configuration.ossRegion)
        awsTokens = AWSTokenService(verifier: verifier)
        alibabaTokens = AlibabaTokenService(keys: keys, nonces: NonceMemory())
    }

    /// Creates a bucket, if it does not exist.
    ///
    /// - Throws: ``EmbeddedStoreError/invalidBucketName(_:)``, or an error of the file system.
    func makeBucket(_ name: String) throws {
        guard ObjectName.isValidBucket(name) else { throw EmbeddedStoreError.invalidBucketName(name) }
        try objects.files.makeBucket(name)
    }

    /// Plans a request: uploads and forms are streamed, documents are collected, and other methods have no body.
    public func begin(_ head: RequestHead) -> RequestPlan {
        switch head.method {
        case .put: return RequestPlan(.stream(maxBytes: configuration.maxObjectBytes))
        case .post:
            let isForm = head.headerFields[.contentType]?.lowercased().hasPrefix("multipart/form-data") ?? false
            return RequestPlan(
                isForm
                    ? .stream(maxBytes: configuration.maxObjectBytes + Self.maxFormExtra)
                    : .collect(maxBytes: ObjectService.maxDocumentBytes))
        default: return RequestPlan(.collect(maxBytes: 0))
        }
    }

    /// Answers a request. A refusal is answered with an error in the format of the store that the request is for.
    public func respond(to request: ServerRequest) async -> ServerResponse {
        let requestID = UUID().uuidString
        var dialect = StoreDialect.s3
        var response: ServerResponse
        do {
            if request.head.method == .options {
                response = try StoreOrigins(configuration.allowedOrigins).preflight(request.head)
            } else {
                let received = try StoreRequest(request.head)
                dialect = SignatureClaim.dialect(of: received)
                response = try await answer(to: received, request.body)
            }
        } catch let error as StoreError {
            response = self.response(to: error, dialect, path: request.head.target, requestID)
        } catch let error as RequestBodyError {
            response = self.response(to: storeError(for: error), dialect, path: request.head.target, requestID)
        } catch {
            logger.error("The embedded store failed", metadata: ["error": "\(error)"])
            response = self.response(to: .internalError, dialect, path: request.head.target, requestID)
        }
        response.head.headerFields.set("\(dialect.headerPrefix)request-id", to: requestID)
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
                StoreError(failure.status, "KeyTooLongError", "The URL is too long.")
            case .expectationFailed: StoreError.notImplemented("No expectation but 100-continue is met.")
            case .headerFieldsTooLarge:
                StoreError(
                    failure.status, "RequestHeaderSectionTooLarge",
                    "Your request header section exceeds the maximum allowed size.")
            case .unavailable: StoreError.unavailable
            }
        return response(to: error, .s3, path: nil, UUID().uuidString)
    }

    /// Verifies a request, finds its operation, checks the permission, and carries it out.
    private func answer(to request: StoreRequest, _ body: RequestBody) async throws -> ServerResponse {
        let instant = now()
        if request.place == .service, request.hostBucket == nil, request.method == "POST" || request.has("Action") {
            return try await openSession(request, body, at: instant)
        }
        // A form has its signature in the body.
        if request.method == "POST", case .bucket(let bucket) = request.place,
            request.headers["content-type"]?.lowercased().hasPrefix("multipart/form-data") == true
        {
            guard hasBucket(bucket) else { throw StoreError.noSuchBucket }
            return try await objects.postForm(bucket, request, body, verifier, at: instant)
        }
        guard StoreOperation.table.contains(where: { $0.method == request.method }) else {
            throw StoreError.notImplemented("This store does not have this operation.")
        }
        guard let caller = try verifier.verify(request, at: instant) else { throw StoreError.accessDenied }
        let operation = try StoreOperation.of(request)
        var properties: [RequestProperty: String] = [:]
        properties[.prefix] = operation.name == .listObjects ? try request.parameter("prefix") : nil
        properties[.objectACL] = request.headers["x-oss-object-acl"]
        let permits = { [properties] (place: StorePlace) in
            caller.session?.permits(operation, on: place, properties: properties) ?? true
        }
        guard operation.name == .deleteObjects || permits(request.place) else { throw StoreError.accessDenied }
        let fields = RequestFields(request, signedBy: caller.scheme)
        guard let bucket = request.place.bucket else {
            return try objects.listBuckets(request, fields.dialect, region: region(fields.dialect))
        }
        guard hasBucket(bucket) else { throw StoreError.noSuchBucket }
        if case .object(let name) = request.place {
            let content = UploadContent(body: body, seed: caller.chunks)
            return try await answer(operation.name, on: name, request, fields, content, at: instant)
        }
        if operation.name == .deleteObjects {
            return try await objects.deleteMany(in: bucket, fields, body, of: request, at: instant) {
                permits(.object($0))
            }
        }
        return try answer(operation.name, on: bucket, request, fields.dialect)
    }

    private func hasBucket(_ name: String) -> Bool {
        ObjectName.isValidBucket(name) && objects.files.hasBucket(name)
    }

    private func openSession(
        _ request: StoreRequest, _ body: RequestBody, at instant: SigningInstant
    ) async throws -> ServerResponse {
        let bytes = try await body.bytes(atMost: ObjectService.maxDocumentBytes)
        let isForm = request.headers["content-type"]?.hasPrefix("application/x-www-form-urlencoded") ?? false
        guard let pairs = isForm ? PercentText.pairs(bytes) : [] else {
            throw StoreError.invalidRequest("The form in the body cannot be decoded.")
        }
        let form = pairs.map { NamedValue($0.name, $0.value) }
        let isAlibaba =
            request.headers["authorization"]?.hasPrefix("ACS3-") ?? false
            || (request.query + form).contains { $0.name == "SignatureMethod" }
        return isAlibaba
            ? alibabaTokens.answer(request, form, bytes, at: instant)
            : awsTokens.answer(request, form, bytes, at: instant)
    }

    private func answer(
        _ operation: StoreOperation.Name, on name: ObjectName, _ request: StoreRequest, _ fields: RequestFields,
        _ content: UploadContent, at instant: SigningInstant
    ) async throws -> ServerResponse {
        switch operation {
        case .getObject, .headObject: try objects.get(name, fields, query: request.query)
        case .putObject: try await objects.put(name, fields, content, of: request, at: instant)
        case .deleteObject: try objects.delete(name, fields, at: instant)
        case .startUpload: try objects.startUpload(name, fields, at: instant)
        case .putPart: try await objects.putPart(name, fields, content, of: request, at: instant)
        case .listParts: try objects.listParts(name, request, fields.dialect)
        case .completeUpload: try await objects.completeUpload(name, fields, content.body, of: request, at: instant)
        case .abortUpload: try objects.abortUpload(name, request)
        case .headBucket, .listObjects, .listUploads, .getVersioning, .getLocation, .postObject, .deleteObjects,
            .listBuckets:
            preconditionFailure("\(operation) is not on objects.")
        }
    }

    private func answer(
        _ operation: StoreOperation.Name, on bucket: String, _ request: StoreRequest, _ dialect: StoreDialect
    ) throws -> ServerResponse {
        switch operation {
        case .headBucket: return ServerResponse(head: ResponseHead(status: .ok))
        case .listObjects: return try objects.list(bucket, request, dialect)
        case .listUploads: return try objects.listUploads(bucket, request, dialect)
        // Without a status, versioning was never switched on.
        case .getVersioning:
            return StoreXML("VersioningConfiguration", namespace: dialect.namespace, []).response()
        case .getLocation:
            let region = region(dialect)
            return StoreXML("LocationConstraint", region == "us-east-1" ? "" : region).response()
        case .postObject: throw StoreError.malformedPost
        case .getObject, .headObject, .putObject, .deleteObject, .startUpload, .putPart, .listParts, .completeUpload,
            .abortUpload, .deleteObjects, .listBuckets:
            preconditionFailure("\(operation) is not answered here.")
        }
    }

    /// The region as a dialect names it.
    private func region(_ dialect: StoreDialect) -> String {
        dialect == .s3 ? configuration.region : "oss-" + configuration.ossRegion
    }

    private func storeError(for error: RequestBodyError) -> StoreError {
        switch error {
        case .disconnected: .incompleteBody
        case .timedOut: .requestTimeout
        case .tooLarge: .entityTooLarge(maxBytes: configuration.maxObjectBytes)
        case .noMemory: .unavailable
        }
    }

    private func response(
        to error: StoreError, _ dialect: StoreDialect, path: String?, _ requestID: String
    ) -> ServerResponse {
        let resource = path.map { String($0.prefix { $0 != "?" }) } ?? ""
        let body = error.xml(in: dialect, resource: resource, requestID: requestID)
        return ServerResponse(
            head: ResponseHead(
                status: error.inWords(of: dialect).status, headerFields: [.contentType: "application/xml"]),
            body: .bytes(body))
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
