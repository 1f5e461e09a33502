import Foundation
import HTTPTesting
import Synchronization
import TestSupport

/// Changes policy as a schedule says, and repeats each change until it has a final answer.
final class Admin {
    private let world: World
    private let number: Int
    private var generator: SeededGenerator
    private let lines = (0..<Schedule.gateways).map { _ in Line() }
    private var turn = 0

    /// Longest time that a change may go without an answer, in seconds.
    private static let patience = 30.0

    init(_ number: Int, of seed: UInt64, in world: World) {
        self.number = number
        self.world = world
        generator = SeededGenerator(seed: seed, stream: 1000 + number)
    }

    /// Runs the steps, none before its time.
    func run(_ steps: [Schedule.Timed<Schedule.Step>], until isOver: Flag) throws {
        for step in steps {
            while world.recorder.now < step.at { Thread.sleep(forTimeInterval: 0.002) }
            if isOver.isRaised { return }
            try take(step.event)
        }
    }

    private func take(_ step: Schedule.Step) throws {
        switch step {
        case .toggleGrant(let user): try toggleGrant(of: user)
        case .toggleKey(let user): try toggleKey(of: user)
        case .toggleTicket(let user): try toggleTicket(of: user)
        case .toggleRedirects:
            redirects.toggle()
            let target = "/admin/v1/buckets/\(world.ground.bucket)"
            let (_, from, to) = try ask("PATCH", target, ["allowsRedirects": .bool(redirects)])
            note(.redirects(world.ground.bucket), redirects ? 1 : 0, from, to)
        case .limit(let user, let percent):
            guard let quota = world.quotas[user] else { return }
            let limit = quota.limit * percent / 100
            let (_, from, to) = try ask("PATCH", "/admin/v1/quotas/\(quota.id)", ["limit": .number(limit)])
            note(.limit(quota.id), limit, from, to)
        }
    }

    private var redirects = true

    private func toggleGrant(of user: Int) throws {
        let persona = world.personas.withLock { $0[user] }
        let principal = persona.asker.user.principal
        if let grant = persona.grant {
            let (_, from, to) = try ask("DELETE", "/admin/v1/grants/\(grant)")
            note(.grant(principal), 0, from, to)
            world.personas.withLock { $0[user].grant = nil }
        } else {
            let body = Deployment.askingGrant(principal, in: world.ground.bucket)
            var (answer, from, to) = try ask("POST", "/admin/v1/grants", body)
            if answer?.status == 409 {
                // The key was made, but the answer was lost.
                (answer, _, to) = try ask("GET", "/admin/v1/grants?principal=\(principal)")
            }
            let json = answer.flatMap { try? JSON($0.body) } ?? .null
            note(.grant(principal), 1, from, to)
            world.personas.withLock { $0[user].grant = json["id"].text ?? json["items"].items.first?["id"].text }
        }
    }

    private func toggleKey(of user: Int) throws {
        let persona = world.personas.withLock { $0[user] }
        if persona.hasKey {
            let (_, from, to) = try ask("DELETE", "/admin/v1/api-keys/\(persona.asker.user.keyID)")
            note(persona.key, 0, from, to)
            world.personas.withLock { $0[user].hasKey = false }
        } else {
            let body: JSON = ["name": "another key", "principal": "\(persona.asker.user.principal)"]
            let (answer, _, _) = try ask("POST", "/admin/v1/api-keys", body)
            let json = answer.flatMap { try? JSON($0.body) } ?? .null
            // If the text of a key is lost, nobody can use the key.
            guard let id = json["id"].text, let token = json["key"].text else { return }
            world.site.keepSecret(token)
            world.recorder.note(Change(.key(id), isFromTheBeginning: 1))
            world.personas.withLock { personas in
                let old = personas[user].asker.user
                personas[user].asker.user = User(
                    principal: old.principal, keyID: id, client: APIClient(port: old.client.port, token: token))
                personas[user].key = .key(id)
                personas[user].hasKey = true
            }
        }
    }

    private func toggleTicket(of user: Int) throws {
        let persona = world.personas.withLock { $0[user] }
        guard let ticket = persona.ticket else { return }
        if persona.hasTicket {
            let (_, from, to) = try ask("DELETE", "/admin/v1/tickets/\(ticket.id)")
            note(.ticket(ticket.id), 0, from, to)
            world.personas.withLock { $0[user].hasTicket = false }
        } else {
            let (answer, _, _) = try ask(
                "POST", "/v1/tickets", World.ticket(in: world.ground), as: persona.asker.user.client.token)
            let json = answer.flatMap { try? JSON($0.body) } ?? .null
            guard let id = json["id"].text, let text = json["ticket"].text else { return }
            world.site.keepSecret(text)
            world.recorder.note(Change(.ticket(id), isFromTheBeginning: 1))
            world.personas.withLock { personas in
                personas[user].ticket = (id, text)
                personas[user].hasTicket = true
            }
        }
    }

    private func note(_ subject: Subject, _ value: Int, _ from: Double, _ to: Double) {
        world.recorder.note(Change(subject: subject, value: value, from: from, to: to))
    }

    /// Sends a change to any gateway until it has a final answer. Returns when it was first sent, and when its final
    /// answer was known.
    ///
    /// Rows are made with an idempotency key. Changes and removals may happen twice.
    private func ask(
        _ method: String, _ target: String, _ body: JSON? = nil, as token: String? = nil
    ) throws -> (RawResponse?, from: Double, to: Double) {
        turn += 1
        var headers: [(name: String, value: String)] = []
        if method == "PATCH" { headers.append((name: "If-Match", value: "*")) }
        if method == "POST" { headers.append((name: "Idempotency-Key", value: "admin-\(number)-\(turn)")) }
        let client = APIClient(port: 0, token: token ?? world.adminToken)
        let request = try client.request(method, target, body, headers: headers)
        let from = world.recorder.now
        while world.recorder.now < from + Self.patience {
            if let door = world.openDoor(.random(in: 0..<Schedule.gateways, using: &generator)) {
                let answer = try? { () throws -> RawResponse in
                    try lines[door.gateway].send(request, to: door)
                    return try lines[door.gateway].receive(request)
                }()
                if let answer, answer.status != 503, !answer.text.contains("IdempotencyKeyInUse") {
                    return (answer, from, world.recorder.now)
                }
            }
            Thread.sleep(forTimeInterval: 0.01)
        }
        return (nil, from, .infinity)
    }
}
