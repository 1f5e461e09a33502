import Foundation
import Testing

extension World {
    /// Makes a world at a site with three gateways: users with their grants, keys and quotas. Its time begins when they
    /// exist.
    ///
    /// - Parameter limit: The limit per minute of users with a quota of their own.
    static func make(at site: Deployment, limit: Int) async throws -> World {
        let ground = try await site.makeAskingGround()
        var history = History()
        func note(_ subject: Subject, is value: Int) {
            history.changes.append(Change(subject, isFromTheBeginning: value))
        }
        var quotas: [Int: Quota] = [:]
        for (role, metric, limit) in [(Role.limited, "urls", limit), (.weighed, "bytes", limit * Way.bytes)] {
            let id = try await site.quota(
                limit, for: role.principal, options: ["metric": "\(metric)", "period": "minute"])
            quotas[role.rawValue] = Quota(id: id, limit: limit)
            note(.limit(id), is: limit)
        }
        // All users share the counter of this quota, which has room for all of them.
        let shared = try await site.quota(10_000_000, for: "*", options: ["period": "day", "sharing": "shared"])
        note(.limit(shared), is: 10_000_000)
        var personas: [Persona] = []
        for role in Role.allCases {
            let (asker, grant) = try await site.makeAsker(role.name, at: ground)
            var persona = Persona(asker: asker, key: .key(asker.user.keyID), grant: grant)
            note(.grant(role.principal), is: 1)
            note(persona.key, is: 1)
            if role == .ticketed {
                let answer = try await asker.user.client.call("POST", "/v1/tickets", Self.ticket(in: ground))
                persona.ticket = (
                    try #require(answer.json["id"].text, "\(answer.text)"), try #require(answer.json["ticket"].text)
                )
                persona.hasTicket = true
                site.keepSecret(persona.ticket?.text ?? "")
                if let ticket = persona.ticket { note(.ticket(ticket.id), is: 1) }
            }
            personas.append(persona)
        }
        note(.redirects(ground.bucket), is: 1)
        return World(
            site: site, ground: ground, personas: personas, quotas: quotas, recorder: Recorder(history))
    }

    /// The body of a request for a ticket that covers everything.
    static func ticket(in ground: AskingGround) -> JSON {
        ["bucket": "\(ground.bucket)", "prefix": "", "maxUses": 100_000]
    }
}
