import FoundationEssentials
import GatewayCloud
import GatewayCore
import GatewayPostgres
import MicroHTTPD
import StrictJSON

extension Doctor {
    /// Largest number of servers that are called. A thousand buckets usually have few endpoints.
    private static let mostOrigins = 100

    /// Calls the servers that the rows name, each once and at the same time.
    mutating func examineOutbound(_ endpoints: [CalledEndpoint]?) async {
        guard let outbound else {
            return report.note(.outbound, .skipped, "SLUICE_OUTBOUND_ALLOW has mistakes.")
        }
        guard let endpoints else {
            return report.note(.outbound, .skipped, "The rows that name servers cannot be read.")
        }
        let origins = Dictionary(grouping: endpoints) { OutboundReach.origin(of: $0.url) ?? $0.url }
            .mapValues { $0.map(\.row) }
        guard !origins.isEmpty else { return report.note(.outbound, .ok, "No row names a server.") }
        let reach = OutboundReach(policy: outbound)
        let failures = await withTaskGroup(of: (String, ProbeFailure?).self) { group in
            for origin in origins.keys.sorted().prefix(Self.mostOrigins) {
                group.addTask { (origin, await reach.failure(at: origin)) }
            }
            return await group.reduce(into: [String: ProbeFailure]()) { $0[$1.0] = $1.1 }
        }
        for (origin, failure) in failures.sorted(by: { $0.key < $1.key }) {
            let rows = origins[origin] ?? []
            let more = rows.count > 3 ? " and \(rows.count - 3) more" : ""
            report.note(
                .outbound, .failed,
                "\(origin) (\(rows.prefix(3).joined(separator: ", "))\(more)): \(Self.reason(failure))",
                advice: Self.advice(failure))
        }
        let left = origins.count - Self.mostOrigins
        if left > 0 { report.note(.outbound, .warning, "\(left) more servers were not called.") }
        let reached = min(origins.count, Self.mostOrigins) - failures.count
        if reached > 0 { report.note(.outbound, .ok, "Servers that answer: \(reached).") }
    }

    private static func reason(_ failure: ProbeFailure) -> String {
        switch failure {
        case .blocked: "the address is not public and not allowed."
        case .nameNotFound: "the name has no address."
        case .unreachable: "nothing accepts a connection there."
        case .timedOut: "no answer within 5 seconds."
        case .tls: "it does not speak TLS, or its certificate is not trusted."
        case .unreadable, .redirected, .refused, .unexpected, .clockDifference, .notSignable:
            "the answer is not HTTP."
        }
    }

    private static func advice(_ failure: ProbeFailure) -> String {
        let note = OutboundReach.noteOnProxy.map { " \($0)" } ?? ""
        return switch failure {
        case .blocked: "If you mean this address, add the origin to SLUICE_OUTBOUND_ALLOW."
        case .nameNotFound: "Check the spelling of the endpoint, and the name servers of this machine.\(note)"
        case .tls: "Install the authority of the certificate on this machine, or correct the endpoint."
        default: "Check host and port of the endpoint, and firewalls in between.\(note)"
        }
    }

    /// Looks whether `serve` could listen, or whether a gateway does.
    mutating func examineListeners(_ reader: SettingReader) async {
        examineDescriptors()
        var reader = reader
        let listen = ListenAddress(reading: &reader, .listen) ?? Settings.defaultListen
        let admin = ListenAddress(reading: &reader, .adminListen)
        let scheme = reader.text(.tlsCertificateFile) == nil ? "http" : "https"
        let refusal = Self.refusal(of: listen)
        let adminRefusal = admin.flatMap { Self.refusal(of: $0) }
        // Only the inner listener has /healthz and /readyz. Nobody is asked at an address that is free.
        let inner = Self.origin(of: admin ?? listen, scheme)
        let isTaken = (admin == nil ? refusal : adminRefusal) != nil
        let isRunning =
            if isTaken { await Self.answer(at: inner, "/healthz")?["status"] == .string("ok") } else { false }
        // The certificate is usually for the gateway's name, not for the address.
        let isSecured = if isRunning || !isTaken { false } else { await Self.isSecured(inner) }
        let holder = isRunning ? "a gateway" : isSecured ? "a server with TLS" : nil
        note(listen, .listen, refusal, heldBy: holder)
        if let admin { note(admin, .adminListen, adminRefusal, heldBy: holder) }
        if isSecured {
            report.note(
                .gateways, .skipped,
                "The certificate of the server at \(inner) cannot be verified at this address "
                    + "(another name, an unknown authority, or expired).",
                advice: "If it is a gateway, ask for its /readyz by the name in its certificate.")
        }
        guard isRunning else { return }
        guard case .array(let checks) = await Self.answer(at: inner, "/readyz")?["checks"] else { return }
        for check in checks {
            guard case .string(let flaw) = check["flaw"], case .string(let name) = check["name"] else { continue }
            report.note(
                .gateways, .failed, "The gateway at \(inner) is not ready (\(name)): \(flaw)",
                advice: "See 'When something fails' in docs/availability.md.")
        }
    }

    /// Notes that too few files may be open for any client.
    private mutating func examineDescriptors() {
        guard let database, let connections = try? DatabaseConnections(database, logger: logger) else { return }
        do throws(HTTPServerError) {
            try HTTPServer.checkDescriptors(
                reserving: Gateway.reservedDescriptors(
                    settings?.http ?? Settings.HTTP(), connections: connections.count))
        } catch {
            report.note(.listeners, .failed, "\(error)", advice: error.advice)
        }
    }

    /// Why `serve` could not listen at an address; `nil` if it could.
    private static func refusal(of address: ListenAddress) -> HTTPServerError? {
        do throws(HTTPServerError) {
            try HTTPServer.checkAddress(address.host, port: address.port)
            return nil
        } catch {
            return error
        }
    }

    private mutating func note(
        _ address: ListenAddress, _ name: SettingName, _ refusal: HTTPServerError?, heldBy holder: String?
    ) {
        let place = "\(name.variable): \(address.host) port \(address.port)"
        guard let refusal else { return report.note(.listeners, .ok, "\(place) is free.") }
        if let holder { return report.note(.listeners, .ok, "\(place) is in use, by \(holder).") }
        report.note(
            .listeners, .warning, "\(place) cannot be used: \(refusal)",
            advice: "If systemd holds it (`systemctl status sluice.socket`), leave it: the gateway takes the socket. "
                + "Otherwise 'sluice serve' would not start here: stop what listens there, or choose another address.")
    }

    /// Whether a server with TLS listens whose certificate cannot be verified at the address.
    private static func isSecured(_ origin: String) async -> Bool {
        guard origin.hasPrefix("https:"), let policy = try? OutboundPolicy(origins: [origin]) else { return false }
        return await OutboundReach(policy: policy).isUntrusted(at: origin)
    }

    /// The URL of what listens at an address.
    private static func origin(of address: ListenAddress, _ scheme: String) -> String {
        let host =
            switch address.host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            default: address.host.contains(":") ? "[\(address.host)]" : address.host
            }
        return "\(scheme)://\(host):\(address.port)"
    }

    /// The JSON that a gateway answers, whatever the status; `nil` if nothing answers JSON there.
    private static func answer(at origin: String, _ path: String) async -> JSONValue? {
        guard let policy = try? OutboundPolicy(origins: [origin]) else { return nil }
        let answer = await OutboundReach(policy: policy, timeout: .seconds(5)).answer(at: origin + path)
        return answer.flatMap { try? JSONReader.read(Array($0.body)) }
    }
}
