import ContractModel
import Foundation
import LibCurl

/// Calls a gateway with an admin's key.
struct AdminClient: Sendable {
    private let origin: String
    private let key: String
    private let timeout: Int

    /// An answer whose body is kept in memory.
    struct Answer: Sendable {
        let head: StreamedTransfer.Head
        let body: [UInt8]

        var json: ContractValue? { ContractValue(json: body) }
    }

    /// The body of a request.
    enum Body {
        case none
        case bytes([UInt8], type: String)
        case file(FileHandle, length: Int64?, type: String, progress: AdminProgress)
    }

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - url: The gateway's origin, followed by a path if a proxy serves the gateway below one.
    ///   - key: The admin's bearer token.
    ///   - timeout: Time allowed for a request, in seconds.
    init(url: String, key: String, timeout: Int) throws(AdminFailure) {
        guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme ?? ""),
            parts.host?.isEmpty == false, parts.user == nil, parts.query == nil, parts.fragment == nil
        else { throw .usage("'\(url)' is not the URL of a gateway. An example: https://gateway.example.") }
        guard !key.contains(where: \.isNewline), key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .usage("The key is not a valid bearer token.")
        }
        var origin = url
        while origin.hasSuffix("/") { origin.removeLast() }
        self.origin = origin
        self.key = key
        self.timeout = timeout
        let isNear = ["127.0.0.1", "localhost", "::1", "[::1]"].contains(parts.host ?? "")
        if parts.scheme == "http", !isNear {
            FileHandle.standardError.write(Data("warning: the key is sent unencrypted to \(origin)\n".utf8))
        }
    }

    /// Sends a request and returns the answer, whatever its status.
    func call(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [], _ body: Body = .none
    ) throws(AdminFailure) -> Answer {
        let kept = ReceivedBody()
        let head = try send(method, target, headers: headers, body) { _, bytes in kept.append(bytes) }
        return Answer(head: head, body: kept.bytes)
    }

    /// Sends a request and passes on the body of a successful answer as it arrives.
    ///
    /// - Throws: The gateway's refusal as ``AdminFailure/refused(status:problem:)``.
    func stream(
        _ method: String, _ target: String, headers: [(name: String, value: String)],
        _ take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(AdminFailure) {
        let kept = ReceivedBody()
        let head = try send(method, target, headers: headers, .none) { head, bytes in
            200..<300 ~= head.status ? take(bytes) : kept.append(bytes)
        }
        try Self.check(Answer(head: head, body: kept.bytes))
    }

    /// Throws the problem that a refusing answer holds.
    static func check(_ answer: Answer) throws(AdminFailure) {
        guard !(200..<300 ~= answer.head.status) else { return }
        throw .refused(status: answer.head.status, problem: answer.json ?? .null)
    }

    private func send(
        _ method: String, _ target: String, headers: [(name: String, value: String)], _ body: Body,
        receive: @escaping @Sendable (StreamedTransfer.Head, [UInt8]) -> Bool
    ) throws(AdminFailure) -> StreamedTransfer.Head {
        var fields = [HTTPTransfer.Field("Authorization", "Bearer \(key)")]
        fields += headers.map { HTTPTransfer.Field($0.name, $0.value) }
        let upload: StreamedTransfer.Upload
        switch body {
        case .none:
            upload = .none
        case .bytes(let bytes, let type):
            fields.append(HTTPTransfer.Field("Content-Type", type))
            let rest = UnsentBody(bytes)
            upload = .stream(length: Int64(bytes.count)) { rest.next($0) }
        case .file(let handle, let length, let type, let progress):
            fields.append(HTTPTransfer.Field("Content-Type", type))
            upload = .stream(length: length) { most in
                do {
                    let data = try handle.read(upToCount: most) ?? Data()
                    progress.add(data)
                    return Array(data)
                } catch {
                    return nil
                }
            }
        }
        let transfer = StreamedTransfer(
            method, origin + target, fields: fields, upload: upload, connectTimeout: .seconds(min(timeout, 30)),
            idleTimeout: .seconds(timeout))
        do {
            return try transfer.perform(receive: receive)
        } catch {
            switch error {
            case .malformedHeader: throw .usage("A header cannot contain a line break.")
            case .givenUp: throw .file("A file could not be read or written completely, or the answer is too long.")
            case .failed(let reason): throw .unreachable("\(origin): \(reason)")
            }
        }
    }
}
