import FoundationEssentials
import LibCurl
public import Logging
public import ServiceLifecycle
import Synchronization

/// Sends what the store reports to the gateway: notifications, in the order of the changes, and callbacks.
///
/// It sends to one origin only, so nobody can make the store call other addresses. Notifications are hints: those that
/// cannot be delivered are dropped, and the log says so.
public final class StoreOutlet: Service {
    /// Where the notifications about a bucket go.
    public struct Target: Sendable {
        /// `/v1/events/s3` or `/v1/events/oss`, which also decides about the form of the messages.
        public var path: String
        /// The bucket's event secret.
        public var secret: String

        /// Creates a target.
        public init(path: String, secret: String) {
            self.path = path
            self.secret = secret
        }
    }

    private struct State {
        var origin: String?
        var targets: [String: Target] = [:]
    }

    private static let maxWaiting = 1000
    private static let attempts = 3
    private static let timeout = Duration.seconds(5)
    private static let maxAnswerBytes = 64 << 10

    private let transfers: HTTPTransfers
    private let logger: Logger
    private let state = Mutex(State())
    private let changes: AsyncStream<ObjectChange>
    private let queue: AsyncStream<ObjectChange>.Continuation

    /// Creates an outlet without targets.
    public init(logger: Logger) {
        self.logger = logger
        transfers = HTTPTransfers(shares: [.init(atOnce: 8, perOrigin: 8, waiting: 64, lookUps: 1)])
        (changes, queue) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.maxWaiting))
    }

    /// Connects the outlet.
    ///
    /// - Parameters:
    ///   - origin: The gateway, such as `http://127.0.0.1:8080`.
    ///   - targets: Where the notifications about each bucket go, by name.
    public func connect(to origin: String, targets: [String: Target]) {
        state.withLock { $0 = State(origin: origin, targets: targets) }
    }

    /// Sends the notifications until the service group stops.
    public func run() async throws {
        let queue = queue
        await withGracefulShutdownHandler {
            for await change in changes { await deliver(change) }
        } onGracefulShutdown: {
            queue.finish()
        }
    }

    /// Takes a change to report later.
    func add(_ change: ObjectChange) {
        queue.yield(change)
    }

    /// Sends a callback, and returns the status and the body of the answer.
    ///
    /// - Throws: ``StoreError`` for an address other than the gateway's, and if there is no answer.
    func call(_ url: String, contentType: String, body: [UInt8]) async throws(StoreError) -> (
        status: Int, body: [UInt8]
    ) {
        guard let origin = state.withLock({ $0.origin }), url.hasPrefix(origin + "/") else {
            throw .callbackFailed("This store calls back the gateway only.")
        }
        guard let answer = await post(url, contentType, body, authorization: nil) else {
            throw .callbackFailed("There was no answer to the callback.")
        }
        return (answer.status, answer.body)
    }

    private func deliver(_ change: ObjectChange) async {
        let (origin, target) = state.withLock { ($0.origin, $0.targets[change.bucket]) }
        guard let origin, let target else { return }
        let body = change.message(target.path.hasSuffix("/oss") ? .oss : .s3)
        for attempt in 1...Self.attempts {
            let answer = await post(
                origin + target.path, "application/json", body, authorization: "Bearer \(target.secret)")
            if answer?.status == 200 { return }
            if let status = answer?.status, status < 500, status != 429 {
                logger.warning("The gateway refused a notification of the store", metadata: ["status": "\(status)"])
                return
            }
            guard attempt < Self.attempts, (try? await Task.sleep(for: .seconds(attempt))) != nil else { break }
        }
        logger.warning("A notification of the store was not delivered", metadata: ["bucket": "\(change.bucket)"])
    }

    private func post(
        _ url: String, _ contentType: String, _ body: [UInt8], authorization: String?
    ) async -> HTTPTransfer.Answer? {
        guard let parts = URLComponents(string: url), let host = parts.host else { return nil }
        var fields = [HTTPTransfer.Field("content-type", contentType)]
        if let authorization { fields.append(.init("authorization", authorization)) }
        let isSecure = parts.scheme == "https"
        let origin = HTTPTransfer.Origin(isSecure: isSecure, host: host, port: parts.port ?? (isSecure ? 443 : 80))
        let transfer = HTTPTransfer(
            .post(body: body), url, at: origin, fields: fields, maxBytes: Self.maxAnswerBytes, timeout: Self.timeout
        ) { _ in true }
        return try? await transfers.perform(transfer, share: 0)
    }
}
