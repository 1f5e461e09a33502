import GatewayCore
import LibCurl

extension ProbeRound {
    /// The preflight request of a browser before a page of an origin uploads.
    mutating func tryPreflight(from origin: String) async {
        guard wasReached else { return skip(.preflight, origin: origin) }
        let fields: [HTTPTransfer.Field] = [
            .init("origin", origin), .init("access-control-request-method", "PUT"),
            .init("access-control-request-headers", "content-type"),
        ]
        let reply = await ask("PUT", .options, at: linked, headers: [Self.type], fields: fields)
        note(.preflight, reply, origin: origin) { answer in
            let methods = (answer.field("access-control-allow-methods") ?? "").split(separator: ",")
                .map { $0.drop { $0 == " " } }
            return 200..<300 ~= answer.status
                && [origin, "*"].contains(answer.field("access-control-allow-origin"))
                && (methods.contains("PUT") || methods.contains("*"))
        }
    }
}
