import Bytes
import GatewayCore
import LibCurl
public import Signing
import StrictXML
import Synchronization

/// A request to the store.
public struct StoreCall: Sendable {
    /// The method.
    public var method: String
    /// The URL.
    public var url: String
    /// Headers besides those of the connection. The length is that of the body.
    public var headers: [NamedValue]
    /// The body; `nil` for none.
    public var body: [UInt8]?
    /// Whether the body is sent in chunks, without its length.
    public var isChunked = false
}

/// The store's answer.
public struct StoreAnswer: Sendable {
    /// The status.
    public var status: Int
    /// The status that the store sent, if ``status`` says what it meant instead.
    private var sentStatus: Int?
    /// Header fields.
    public var fields: [NamedValue]
    /// The beginning of the body.
    public var body: [UInt8]

    /// Describes an answer.
    public init(status: Int, fields: [NamedValue] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Whether the store carried out the request.
    var isSuccess: Bool { 200..<300 ~= status }

    /// Whether it tells nothing about such requests: the store was too busy, or in trouble.
    var isOpen: Bool { ProbeFailure.isTemporary(status: status, code: nil) }

    /// The answer to the completion of an upload in parts. A status of 200 may precede an error, because it is sent
    /// before the work is done; it is then read as 500 if the store was too busy or in trouble, else as 400.
    var completion: StoreAnswer {
        guard isSuccess, let code = element("Code") else { return self }
        var answer = self
        answer.sentStatus = status
        answer.status = ProbeFailure.isTemporary(status: 400, code: code) ? 500 : 400
        return answer
    }

    /// Whether a DELETE left nothing behind.
    var isRemoval: Bool { isSuccess || status == 404 }

    /// The version that the request made or removed, in a bucket that keeps versions, or has kept them: then it is
    /// `null`, and a removal that does not name it leaves a delete marker.
    var version: String? {
        let told = ["x-amz-version-id", "x-oss-version-id", "x-goog-generation"].lazy.compactMap { field($0) }.first
        return told.flatMap { $0.utf8.allSatisfy(ByteSet.visible.contains) ? $0 : nil }
    }

    /// The value of the first field with a name.
    func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The text of the first XML element with a name.
    func element(_ name: String) -> String? { XMLFragment.text(of: name, in: body) }

    /// The status that was sent, and the store's code.
    var summary: String {
        let sent = sentStatus ?? status
        guard !isSuccess, let code = element("Code"), code.consists(of: .visible, count: 0...64)
        else { return "\(sent)" }
        return "\(sent) \(code)"
    }
}

/// Sends a request to the store; `nil` without an answer.
public typealias StoreTransport = @Sendable (StoreCall) async -> StoreAnswer?

extension StoreCall {
    /// The most bytes of an answer that are kept.
    private static let maxBytes = 1 << 20

    /// Sends requests over the network.
    ///
    /// - Parameter timeout: Time without progress after which a request is given up.
    public static func network(timeout: Duration) -> StoreTransport {
        { call in
            // The program does nothing else meanwhile, so that the call may block its thread.
            call.send(timeout)
        }
    }

    private func send(_ timeout: Duration) -> StoreAnswer? {
        let transfer = StreamedTransfer(
            method, url, fields: headers.map { HTTPTransfer.Field($0.name, $0.value) },
            upload: body.map { .bytes($0, isChunked: isChunked) } ?? .none, connectTimeout: timeout,
            idleTimeout: timeout)
        let kept = Mutex<[UInt8]>([])
        let head: StreamedTransfer.Head
        do {
            head = try transfer.perform { _, bytes in
                kept.withLock { if $0.count < Self.maxBytes { $0 += bytes } }
                return true
            }
        } catch {
            return nil
        }
        return StoreAnswer(
            status: head.status, fields: head.fields.map { NamedValue($0.name, $0.value) }, body: kept.withLock { $0 })
    }
}
