import ContractModel
import GatewayTransport
import LibCurl
import LocalFiles

/// Calls a gateway with an admin's key.
struct AdminClient: Sendable {
    private let gateway: RemoteGateway
    private let access: AdminAccess
    private let role: String

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
    ///   - timeout: Time without any progress after which a request has failed, in seconds.
    init(_ access: AdminAccess, role: String, timeout: Int) throws(AdminFailure) {
        do throws(TransportFailure) {
            gateway = try RemoteGateway(url: access.url, key: access.key, timeout: .seconds(timeout))
        } catch {
            throw AdminFailure(error, access)
        }
        self.access = access
        self.role = role
    }

    /// Warns a user whose key travels in the clear.
    func warnAboutPlainHTTP() {
        guard let warning = gateway.warning else { return }
        writeToStandardError("warning: \(warning)\n")
    }

    /// Sends a request and returns the answer, whatever its status.
    func call(
        _ method: String, _ target: String, headers: [(name: String, value: String)] = [], _ body: Body = .none
    ) throws(AdminFailure) -> RemoteGateway.Answer {
        try send(method, target, headers: headers, body)
    }

    /// Sends a request and passes on the body of a successful answer as it arrives.
    ///
    /// - Throws: The gateway's refusal as ``AdminFailure/refused(status:problem:advice:option:)``.
    func stream(
        _ method: String, _ target: String, headers: [(name: String, value: String)],
        _ take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(AdminFailure) {
        try check(send(method, target, headers: headers, .none, taking: take))
    }

    /// Throws the problem that a refusing answer holds, with advice where the line or the environment is the cause.
    func check(_ answer: RemoteGateway.Answer) throws(AdminFailure) {
        guard !answer.isSuccess else { return }
        let status = answer.head.status
        let problem = answer.json ?? .null
        guard problem["code"]?.text != nil else {
            let told = ContractValue.object([
                .init("code", .string(RemoteGateway.unknownAnswerCode)),
                .init("detail", .string(gateway.unknownAnswerText)), .init("status", .integer(status)),
            ])
            throw .refused(status: status, problem: told, advice: access.urlSource)
        }
        throw .refused(status: status, problem: problem, advice: advice(on: status, problem))
    }

    private func advice(on status: Int, _ problem: ContractValue) -> String? {
        switch (status, problem["code"]?.text) {
        case (401, _): "The key in \(access.keySource) was sent to \(gateway.origin)."
        case (403, _) where problem["type"]?.text?.hasSuffix("role-required") == true:
            "The command requires the role '\(role)'. The key comes from \(access.keySource)."
        case (404, "NoSuchRoute"):
            "Is \(gateway.origin) the listener for admins (SLUICE_ADMIN_LISTEN)? \(access.urlSource)"
        default: nil
        }
    }

    private func send(
        _ method: String, _ target: String, headers: [(name: String, value: String)], _ body: Body,
        taking take: (@Sendable ([UInt8]) -> Bool)? = nil
    ) throws(AdminFailure) -> RemoteGateway.Answer {
        var fields = headers.map { HTTPTransfer.Field($0.name, $0.value) }
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
        do throws(TransportFailure) {
            return try gateway.send(method, target, fields: fields, upload: upload, taking: take)
        } catch {
            throw AdminFailure(error, access)
        }
    }
}

extension RemoteGateway.Answer {
    /// The body; `nil` if it is not JSON.
    var json: ContractValue? { try? ContractValue(json: body) }
}

extension AdminFailure {
    /// Describes a request without a whole answer, and names the setting to look at.
    fileprivate init(_ failure: TransportFailure, _ access: AdminAccess) {
        self =
            switch failure {
            case .url(let text): .usage("\(text) \(access.urlSource)")
            case .key(let text): .usage("\(text) It comes from \(access.keySource).")
            case .header(let text): .usage(text)
            case .givenUp(let text): .file(text)
            case .unanswered(let text): .unreachable(text, advice: access.urlSource)
            }
    }
}
