import GatewayCore
import LibCurl

extension ProbeRound {
    /// The preflight request of a browser before a page of an origin uploads. A store refuses it as a whole, so a
    /// second one leaves out the headers that only some links bind.
    mutating func tryPreflight(from origin: String) async {
        guard wasReached else { return skip(.preflight, origin: origin) }
        let headers = bucket.pageHeaders
        let all = headers.always + headers.sometimes
        let whole = await preflight(from: origin, all)
        guard !whole.isOpen else { return mark(.skipped, .preflight, whole, origin: origin) }
        if let answer = whole.answer, !Self.permits(answer, origin, all) {
            let least = await preflight(from: origin, headers.always)
            guard !least.isOpen else { return mark(.skipped, .preflight, least, origin: origin) }
            if let answer = least.answer, Self.permits(answer, origin, headers.always) {
                // Some links work.
                return mark(.warned, .preflight, whole, origin: origin)
            }
        }
        note(.preflight, whole, origin: origin) { Self.permits($0, origin, all) }
    }

    private mutating func preflight(from origin: String, _ headers: [String]) async -> Reply {
        let fields: [HTTPTransfer.Field] = [
            .init("origin", origin), .init("access-control-request-method", "PUT"),
            .init("access-control-request-headers", headers.sorted().joined(separator: ",")),
        ]
        return await ask("PUT", .options, at: linked, headers: [Self.type], fields: fields)
    }

    /// Whether a browser lets a page of the origin upload with these headers.
    private static func permits(_ answer: HTTPTransfer.Answer, _ origin: String, _ headers: [String]) -> Bool {
        func list(_ name: String) -> [String] {
            (answer.field(name) ?? "").split(separator: ",").map { String($0.drop { $0 == " " }) }
        }
        let methods = list("access-control-allow-methods")
        let names = list("access-control-allow-headers").map { $0.lowercased() }
        return 200..<300 ~= answer.status && [origin, "*"].contains(answer.field("access-control-allow-origin"))
            && (methods.contains("PUT") || methods.contains("*"))
            && (names.contains("*") || Set(names).isSuperset(of: headers))
    }
}
