public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A client of one gateway: uploads, downloads, links and forms. All calls throw a ``SluiceError``, a
/// `CancellationError`, or an error of the file system or of the token's provider.
///
/// ```swift
/// let client = Sluice(url: gateway, token: { _ in try await session.accessToken() })
/// let upload = client.upload(file: video, to: .init(bucket: "videos", key: "holiday.mp4", contentType: "video/mp4"))
/// for await progress in upload.progress { bar.update(progress.fraction) }
/// let done = try await upload.value
/// ```
public final class Sluice: Sendable {
    /// Returns an API key or a JWT. The client calls it for each request, and again with `isRefresh` after the gateway
    /// has refused what it returned.
    public typealias TokenProvider = @Sendable (_ isRefresh: Bool) async throws -> String

    /// How transfers are made.
    public struct Options: Sendable {
        /// How often a request is repeated.
        public var retries = 6
        /// The time without any progress after which a request has failed. On Apple's systems, a request waits for a
        /// network before this time begins.
        public var timeout = Duration.seconds(60)
        /// Length of parts in bytes, 16 MiB by default. A longer file is sent in parts. Stores accept no parts below
        /// 5 MiB. On Linux the default is 8 MiB, because `URLSession` holds in memory there what it sends.
        public var partSize = defaultPartSize
        /// Number of parts that are sent at once.
        public var parallel = 4
        /// Where parts and forms are put together before they are sent, with space for as many parts as are sent at
        /// once.
        public var temporaryDirectory = FileManager.default.temporaryDirectory

        /// Options as they are by default.
        public init() {}
    }

    /// The gateway's origin, followed by a path if a proxy serves the gateway below one.
    public let url: URL
    /// How transfers are made.
    public let options: Options
    let states: any StateStore
    let transport: Transport
    /// Names of the states that transfers under way have.
    let namesInUse = Locked<Set<String>>([])
    private let token: TokenProvider

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - url: the gateway's origin, followed by a path if a proxy serves the gateway below one.
    ///   - states: where the state of interrupted transfers is kept. With a ``DirectoryStateStore``, a transfer goes on
    ///     after the app has been terminated.
    ///   - options: how transfers are made.
    ///   - token: returns an API key or a JWT.
    public init(
        url: URL, states: any StateStore = MemoryStateStore(), options: Options = Options(),
        token: @escaping TokenProvider
    ) {
        self.url = url
        self.states = states
        self.options = options
        self.token = token
        transport = Transport(timeout: options.timeout)
    }

    /// Makes a client with a key that does not change, such as an API key.
    public convenience init(
        url: URL, states: any StateStore = MemoryStateStore(), options: Options = Options(), token: String
    ) {
        self.init(url: url, states: states, options: options) { _ in token }
    }

    /// Asks for a link.
    public func link(_ request: LinkRequest) async throws -> Link {
        try await call("POST", "/v1/presigned-urls", request)
    }

    /// Asks for many links. Each is a link, or the error that a single request would have got. The order is kept.
    public func batch(_ requests: [LinkRequest]) async throws -> [Result<Link, SluiceError>] {
        var results: [Result<Link, SluiceError>] = []
        for start in stride(from: 0, to: requests.count, by: 1000) {
            let items = Array(requests[start..<min(start + 1000, requests.count)])
            let answer: Results<Link> = try await call("POST", "/v1/presigned-urls/batch", ["items": items])
            results += answer.results.map(\.result)
        }
        return results
    }

    /// Asks for the URL of a download.
    public func downloadURL(for object: ObjectRequest) async throws -> URL {
        try await link(LinkRequest(object)).url
    }

    /// Asks for a form.
    public func form(_ request: FormRequest) async throws -> Form {
        try await call("POST", "/v1/post-policies", request)
    }

    /// Asks what has arrived by a link, a form with a fixed key, or an upload in parts.
    ///
    /// - Parameter id: of the link, the form or the upload.
    public func confirm(_ id: String) async throws -> Upload {
        try await call("POST", "/v1/issuances/\(id):confirm", [String: String]())
    }

    /// Starts an upload in parts. ``upload(file:to:options:)`` does this and what follows.
    ///
    /// - Parameter contentLength: the largest length of all parts together.
    public func startParts(_ target: Target, contentLength: Int64? = nil) async throws -> PartsUpload {
        try await call("POST", "/v1/multipart-uploads", PartsStart(target: target, contentLength: contentLength))
    }

    /// Reads an upload in parts.
    public func partsUpload(_ id: String) async throws -> PartsUpload {
        try await call("GET", "/v1/multipart-uploads/\(id)", Nothing?.none)
    }

    /// Asks for the link of a part.
    ///
    /// - Parameters:
    ///   - id: of the upload in parts.
    ///   - part: the part, and what the link binds of it.
    ///   - expiresIn: life of the link in seconds. The gateway shortens it to what is allowed.
    public func partLink(_ id: String, _ part: PartRequest, expiresIn: Int? = nil) async throws -> Link {
        let request = PartsRequest(parts: [part], expiresIn: expiresIn)
        let answer: OnlyResult<Link> = try await call("POST", "/v1/multipart-uploads/\(id)/parts", request)
        return answer.value
    }

    /// Lists the parts that the store has.
    ///
    /// - Parameter id: of the upload in parts.
    public func storedParts(_ id: String) async throws -> [StoredPart] {
        var parts: [StoredPart] = []
        var query = "?pageSize=1000"
        while true {
            let path = "/v1/multipart-uploads/\(id)/parts\(query)"
            let page: Page<StoredPart> = try await call("GET", path, Nothing?.none)
            parts += page.items
            guard let token = page.nextPageToken else { return parts }
            query = "?pageSize=1000&pageToken=\(token.queryEscaped)"
        }
    }

    /// Makes the object of its parts. Doing so again with the same parts changes nothing.
    ///
    /// - Parameters:
    ///   - id: of the upload in parts.
    ///   - parts: the entity tags of all parts, without quotes, by number from 1 on.
    public func completeParts(_ id: String, _ parts: [Int: String]) async throws -> PartsUpload {
        let list = parts.sorted { $0.key < $1.key }.map { PartTag(partNumber: $0.key, etag: $0.value) }
        return try await call("POST", "/v1/multipart-uploads/\(id):complete", ["parts": list])
    }

    /// Aborts an upload in parts, and discards them at the store. Doing so again changes nothing.
    ///
    /// - Parameter id: of the upload in parts.
    public func abortParts(_ id: String) async throws {
        let _: Nothing = try await call("DELETE", "/v1/multipart-uploads/\(id)", Nothing?.none)
    }
}

// MARK: - Requests

extension Sluice {
    /// Sends a request to the gateway until it is answered. A `POST` takes effect once, even if it is sent again,
    /// unless its answer is gone by then. A ``SluiceError`` that decoding the body throws is a refusal like any other.
    func call<Answered: Decodable & Sendable>(
        _ method: String, _ path: String, _ body: (some Encodable & Sendable)?
    ) async throws -> Answered {
        try await datedCall(method, path, body).answered
    }

    /// Does as ``call(_:_:_:)``, and tells as well when the gateway answered, by its own clock.
    func datedCall<Answered: Decodable & Sendable>(
        _ method: String, _ path: String, _ body: (some Encodable & Sendable)?
    ) async throws -> (answered: Answered, date: Date?) {
        let request = try gatewayRequest(method, path, body)
        // One refusal of a token is worth asking for another one, which the app has from then on.
        let hasRefreshed = Locked(false)
        let key = Locked((text: UUID().uuidString, isRenewed: false))
        @Sendable func attempt() async throws -> (answered: Answered?, date: Date?) {
            let text = key.withLock { $0.text }
            var answer = try await self.ask(request, text, isRefresh: false)
            if answer.status == 401, !hasRefreshed.withLock({ $0 }) {
                hasRefreshed.withLock { $0 = true }
                answer = try await self.ask(request, text, isRefresh: true)
            }
            return (try Self.accepted(answer, as: Answered.self), answer.head.date)
        }
        let (answered, date) = try await retrying { _ in
            do {
                return try await attempt()
            } catch let error as SluiceError
                where error.code == .idempotentAnswerGone && !key.withLock({ $0.isRenewed })
            {
                // An earlier attempt took effect, but its link has ended since.
                key.withLock { $0 = (UUID().uuidString, true) }
                return try await attempt()
            }
        }
        guard let answered else { throw SluiceError.lost("The answer is not one of a gateway.") }
        return (answered, date)
    }

    private func gatewayRequest(_ method: String, _ path: String, _ body: (some Encodable)?) throws -> URLRequest {
        guard let target = URL(string: url.absoluteString.trimmed(of: "/") + path) else {
            throw SluiceError(.client, .invalidArgument, detail: "\(url) is not the address of a gateway.")
        }
        var request = URLRequest(url: target)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let body {
            request.httpBody = try Coding.encode(body)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    private func ask(_ request: URLRequest, _ key: String, isRefresh: Bool) async throws -> Answer {
        // A provider that does not answer keeps no call from being cancelled.
        let asking = Task { [token] in try await token(isRefresh) }
        let text = try await withTaskCancellationHandler {
            try await asking.valueUnlessCancelled
        } onCancel: {
            asking.cancel()
        }
        var request = request
        request.setValue("Bearer \(text)", forHTTPHeaderField: "Authorization")
        if request.httpMethod == "POST" { request.setValue(key, forHTTPHeaderField: "Idempotency-Key") }
        return try await transport.send(request)
    }

    /// What the answer says, unless it is a refusal. Nil if it is not one of a gateway, which asking again does not
    /// change.
    private static func accepted<Answered: Decodable>(_ answer: Answer, as type: Answered.Type) throws -> Answered? {
        guard answer.isOK else { throw SluiceError(refusal: answer) }
        if let nothing = Nothing() as? Answered { return nothing }
        do {
            return try Coding.decode(type, from: answer.body)
        } catch let refusal as SluiceError {
            throw refusal
        } catch {
            return nil
        }
    }

    /// Repeats what may be repeated, after growing random pauses, and not before the `Retry-After` of the server.
    func retrying<Result: Sendable>(
        _ attempt: @Sendable (_ number: Int) async throws -> Result
    ) async throws -> Result {
        var number = 0
        while true {
            try Task.checkCancellation()
            do {
                return try await attempt(number)
            } catch let error as SluiceError {
                try Task.checkCancellation()
                guard error.mayPass, number < options.retries else { throw error }
                let longest = min(20, 0.5 * Double(1 << min(number, 20)))
                let pause = (error.retryAfter?.inSeconds ?? 0) + longest / 2 * Double.random(in: 1...2)
                try await Task.sleep(for: .seconds(pause))
            }
            number += 1
        }
    }

    /// Uses a link. One that has expired is renewed first, and so is, once, one whose refusal may mean the same. If
    /// there is no other link then, that is final: the request for it was repeated already.
    ///
    /// - Parameter ask: asks for a link. It notes when its request is first sent, if that is later than its call: a
    ///   repetition may be answered with a link whose life has begun before.
    func using<Result: Sendable>(
        _ ask: @Sendable (_ start: Locked<ContinuousClock.Instant>) async throws -> Link,
        _ action: @Sendable (Link) async throws -> Result
    ) async throws -> Result {
        let held = Locked<(link: Link, end: ContinuousClock.Instant)?>(nil)
        let hasRenewed = Locked(false)
        @Sendable func renewed() async throws -> Link {
            let start = Locked(ContinuousClock.now)
            let link = try await ask(start)
            // Some seconds before its end, a link is not used any more.
            let life = Duration.seconds(link.expiresIn)
            let end = start.withLock { $0 } + life - min(.seconds(5), life / 2)
            held.withLock { $0 = (link, end) }
            return link
        }
        _ = try await renewed()
        let used = try await retrying { _ -> Swift.Result<Result, any Error> in
            var usable = held.withLock { $0.flatMap { $0.end > .now ? $0.link : nil } }
            while true {
                let link: Link
                if let usable {
                    link = usable
                } else {
                    do { link = try await renewed() } catch { return .failure(error) }
                }
                do {
                    return .success(try await action(link))
                } catch let error as SluiceError where error.mayBeExpiry && !hasRenewed.withLock({ $0 }) {
                    try Task.checkCancellation()
                    hasRenewed.withLock { $0 = true }
                    usable = nil
                }
            }
        }
        return try used.get()
    }

    /// Sends a file by a link or a form.
    func put(
        _ file: URL, to url: URL, method: String, headers: [String: String],
        onSent: (@Sendable (Int64) -> Void)? = nil
    ) async throws -> Answer {
        let answer = try await transport.send(
            Self.request(method, url, headers: headers), file: file, onSent: onSent)
        guard answer.isOK else { throw SluiceError(storeRefusal: answer) }
        return answer
    }

    /// `URLSession` writes the length and the host itself.
    static func request(_ method: String, _ url: URL, headers: [String: String]) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        for (name, value) in headers where !["content-length", "host"].contains(name.lowercased()) {
            request.setValue(value, forHTTPHeaderField: name)
        }
        return request
    }

    /// Makes a directory for what one call puts together, and removes it afterwards.
    func withTemporaryDirectory<Result: Sendable>(
        _ body: @Sendable (URL) async throws -> Result
    ) async throws -> Result {
        let directory = options.temporaryDirectory.appendingPathComponent("sluice-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await body(directory)
    }
}

#if canImport(FoundationNetworking)
    private let defaultPartSize: Int64 = 8 << 20
#else
    private let defaultPartSize: Int64 = 16 << 20
#endif

extension String {
    var queryEscaped: String { addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }

    /// The text without this character at its end.
    fileprivate func trimmed(of character: Character) -> String {
        var rest = self[...]
        while rest.last == character { rest.removeLast() }
        return String(rest)
    }
}
