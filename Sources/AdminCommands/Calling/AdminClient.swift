import ContractModel
import FoundationEssentials
import LibCurl
import LocalFiles

/// Calls a gateway with an admin's key.
struct AdminClient: Sendable {
    private let origin: String
    private let access: AdminAccess
    private let role: String
    private let timeout: Int
    private let sendsKeyInClear: Bool
    /// The largest body that is kept. No page of a list is longer.
    private static let maxBytes = 64 << 20

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
        case file(OpenFile, length: Int64?, type: String, progress: AdminProgress)
    }

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - access: The gateway's origin, followed by a path if a proxy serves the gateway below one, and the key.
    ///   - role: The role that the operation requires, for error messages.
    ///   - timeout: Time allowed for a request, in seconds.
    init(_ access: AdminAccess, role: String, timeout: Int) throws(AdminFailure) {
        guard let origin = ServerOrigin(access.url) else {
            throw .usage(
                "'\(access.url)' is not the URL of a gateway. An example: https://gateway.example. \(access.urlSource)")
        }
        guard !access.key.contains(where: \.isNewline), access.key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .usage("The key is not a valid bearer token. It comes from \(access.keySource).")
        }
        self.origin = origin.text
        sendsKeyInClear = origin.isInClear
        self.access = access
        self.role = role
        self.timeout = timeout
    }

    /// Warns a user whose key travels in the clear.
    func warnAboutPlainHTTP() {
        guard sendsKeyInClear else { return }
        writeToStandardError("warning: the key is sent unencrypted to \(origin)\n")
    }

    /// Sends a request and returns the answer, whatever its status.
    func call(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [], _ body: Body = .none
    ) throws(AdminFailure) -> Answer {
        let kept = ReceivedBody(atMost: Self.maxBytes)
        let head = try send(method, target, headers: headers, body) { _, bytes in kept.append(bytes) }
        return Answer(head: head, body: kept.bytes)
    }

    /// Sends a request and passes on the body of a successful answer as it arrives.
    ///
    /// - Throws: The gateway's refusal as ``AdminFailure/refused(status:problem:advice:option:)``.
    func stream(
        _ method: String, _ target: String, headers: [(name: String, value: String)],
        _ take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(AdminFailure) {
        let kept = ReceivedBody(atMost: Self.maxBytes)
        let head = try send(method, target, headers: headers, .none) { head, bytes in
            200..<300 ~= head.status ? take(bytes) : kept.append(bytes)
        }
        try check(Answer(head: head, body: kept.bytes))
    }

    /// Throws the problem that a refusing answer holds, with advice where the line or the environment is the cause.
    func check(_ answer: Answer) throws(AdminFailure) {
        let status = answer.head.status
        guard !(200..<300 ~= status) else { return }
        let problem = answer.json ?? .null
        guard problem["code"]?.text != nil else {
            throw .refused(
                status: status,
                problem: .object([.init("detail", .string("\(origin) does not answer as a gateway does."))]),
                advice: access.urlSource)
        }
        throw .refused(status: status, problem: problem, advice: advice(on: status, problem))
    }

    private func advice(on status: Int, _ problem: ContractValue) -> String? {
        switch (status, problem["code"]?.text) {
        case (401, _): "The key in \(access.keySource) was sent to \(origin)."
        case (403, _) where problem["type"]?.text?.hasSuffix("role-required") == true:
            "The command requires the role '\(role)'. The key comes from \(access.keySource)."
        case (404, "NoSuchRoute"):
            "Is \(origin) the listener for admins (SLUICE_ADMIN_LISTEN)? \(access.urlSource)"
        default: nil
        }
    }

    private func send(
        _ method: String, _ target: String, headers: [(name: String, value: String)], _ body: Body,
        receive: @escaping @Sendable (StreamedTransfer.Head, [UInt8]) -> Bool
    ) throws(AdminFailure) -> StreamedTransfer.Head {
        var fields = [HTTPTransfer.Field("Authorization", "Bearer \(access.key)")]
        fields += headers.map { HTTPTransfer.Field($0.name, $0.value) }
        let upload: StreamedTransfer.Upload
        switch body {
        case .none:
            upload = .none
        case .bytes(let bytes, let type):
            fields.append(HTTPTransfer.Field("Content-Type", type))
            upload = .bytes(bytes)
        case .file(let file, let length, let type, let progress):
            fields.append(HTTPTransfer.Field("Content-Type", type))
            upload = .stream(length: length) { most in
                do {
                    let bytes = try file.read(atMost: most)
                    progress.add(bytes)
                    return bytes
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
            case .notFound(let reason): throw unreachable("The host of \(origin) cannot be found: \(reason).")
            case .notConnected(let reason): throw unreachable("Nothing answers at \(origin): \(reason).")
            case .notTrusted(let reason):
                throw unreachable("The certificate of \(origin) is not trusted: \(reason).")
            case .notSecured(let reason):
                throw unreachable("\(origin) does not speak TLS as expected: \(reason). Is it an http URL?")
            case .late(let reason): throw unreachable("\(origin) did not answer in time: \(reason).")
            case .failed(let reason): throw unreachable("The connection to \(origin) failed: \(reason).")
            }
        }
    }

    private func unreachable(_ text: String) -> AdminFailure { .unreachable(text, advice: access.urlSource) }
}
