import Foundation
import HTTPTesting
import Synchronization
import TestSupport

/// Asks for links without a pause, as every persona and in every way, and records the results.
final class Client {
    private let world: World
    private let number: Int
    private var generator: SeededGenerator
    private let lines = (0..<Schedule.gateways).map { _ in Line() }
    private var turn = 0
    /// Requests with an idempotency key that have no final answer yet.
    private var open: [Order] = []

    /// Seconds that a key may go without a final answer after the faults have ended.
    static let patience = 15.0

    /// A request that may be sent several times.
    private struct Order {
        var way: Way
        var role: World.Role
        var pass: Subject
        var keys: [String]
        var method: String
        var repeatKey: String?
        var request: RawRequest
    }

    init(_ number: Int, of seed: UInt64, in world: World) {
        self.number = number
        self.world = world
        generator = SeededGenerator(seed: seed, stream: number)
    }

    /// Asks until the run is over, and then until every request with an idempotency key has a final answer.
    func run(until isOver: Flag) throws {
        while !isOver.isRaised {
            let order = try draw()
            let asks = send(order, twice: order.repeatKey != nil && generator.once(in: 2))
            world.recorder.note(asks)
            if order.repeatKey != nil, !asks.contains(where: \.isFinal) { open.append(order) }
            // After an answer that is not final, the client waits a little.
            if asks.contains(where: { !$0.isFinal }) { Thread.sleep(forTimeInterval: 0.01) }
            if !open.isEmpty, generator.once(in: 3) { repeatOne() }
        }
        let end = world.recorder.now + Self.patience
        while !open.isEmpty, world.recorder.now < end {
            repeatOne()
            Thread.sleep(forTimeInterval: 0.05)
        }
    }

    private func repeatOne() {
        let order = open.removeFirst()
        let asks = send(order, twice: false)
        world.recorder.note(asks)
        if !asks.contains(where: \.isFinal) { open.append(order) }
    }

    private func draw() throws -> Order {
        turn += 1
        let role = World.Role.allCases.randomElement(using: &generator) ?? .plain
        let way = world.ground.ways.filter(\.isJudged).randomElement(using: &generator) ?? .oneByOne
        let persona = world.personas.withLock { $0[role.rawValue] }
        let uploads = Bool.random(using: &generator)
        let name = "\(role.name)/\(number)-\(turn)"
        let keys: [String] =
            switch way {
            case .inBatches: (0..<Int.random(in: 1...7, using: &generator)).map { "\(name)-\($0)" }
            case .byPart: [persona.asker.upload?.key ?? ""]
            case .bySession: ["\(role.name)/"]
            default: [name]
            }
        // A redirect is a GET, which is repeated without a key.
        let repeatKey = way != .byRedirect && generator.once(in: 4) ? name : nil
        var order = Order(
            way: way, role: role, pass: persona.key, keys: keys, method: way.method(uploads: uploads),
            repeatKey: repeatKey,
            request: try way.request(
                for: keys, uploads: uploads, by: persona.asker,
                headers: repeatKey.map { [(name: "Idempotency-Key", value: $0)] } ?? []))
        if way == .byRedirect, let ticket = persona.ticket, generator.once(in: 2) {
            order.pass = .ticket(ticket.id)
            order.request.target += "?ticket=\(ticket.text)"
            order.request.headers.removeAll { $0.name == "Authorization" }
        }
        return order
    }

    /// Sends a request to one gateway, or to two at once.
    private func send(_ order: Order, twice: Bool) -> [Ask] {
        var gateways = [Int.random(in: 0..<Schedule.gateways, using: &generator)]
        if twice { gateways.append((gateways[0] + 1) % Schedule.gateways) }
        let sent = gateways.compactMap { world.openDoor($0) }.reduce(into: [World.Door]()) { doors, door in
            if !doors.contains(where: { $0.gateway == door.gateway }) { doors.append(door) }
        }.map { door in
            let from = world.recorder.now
            return (door, from, Result { try lines[door.gateway].send(order.request, to: door) })
        }
        return sent.map { door, from, sending in
            let reply: Reply
            do {
                try sending.get()
                reply = Reply(try lines[door.gateway].receive(order.request), to: order.way, in: world.ground.bucket)
            } catch {
                reply = .lost("\(error)")
            }
            return Ask(
                way: order.way, principal: order.role.principal, pass: order.pass, bucket: world.ground.bucket,
                keys: order.keys, method: order.method, repeatKey: order.repeatKey, gateway: door.gateway,
                life: door.life, from: from, to: world.recorder.now, reply: reply)
        }
    }
}

extension Reply {
    /// Reads an answer in the way a client does.
    init(_ answer: RawResponse, to way: Way, in bucket: String) {
        let json = (try? JSON(answer.body)) ?? .null
        let retryAfter = answer["Retry-After"].flatMap { Int($0) }
        switch answer.status {
        case 200 where way == .inBatches || way == .byPart:
            self = .items(json["results"].items.map { Item($0, status: $0["status"].integer ?? 201, in: bucket) })
        case 201: self = .items([Item(json, status: 201, in: bucket)])
        case 303:
            guard let request = answer["X-Request-Id"], let link = answer["Location"].flatMap(LinkParts.init) else {
                self = .lost("a redirect that leads nowhere")
                return
            }
            self = .items([
                .given(Credential(name: .request(request), path: link.path, expiresAt: link.expiresAt))
            ])
        default:
            self = .refused(
                Refusal(status: answer.status, code: json["code"].text ?? "", retryAfter: retryAfter))
        }
    }
}

extension Reply.Item {
    init(_ json: JSON, status: Int, in bucket: String) {
        guard status == 201, let id = json["id"].text else {
            self = .refused(Refusal(status: status, code: json["code"].text ?? "", retryAfter: nil))
            return
        }
        // The expiry in the URL itself counts, not the one stated beside it.
        var credential = Credential(name: .row(id), path: nil, expiresAt: 0)
        if let expiresAt = json["expiresAt"].text, let date = try? Date(expiresAt, strategy: .iso8601) {
            credential.expiresAt = Int(date.timeIntervalSince1970)
        }
        if let key = json["fields"]["key"].text {
            credential.path = "/\(bucket)/\(key)"
        } else if let link = json["url"].text.flatMap(LinkParts.init) {
            credential.path = link.path
            credential.expiresAt = link.expiresAt
        }
        self = .given(credential)
    }
}

/// The readable parts of a presigned URL of version 4.
struct LinkParts {
    var path: String
    var expiresAt: Int

    init?(_ url: String) {
        guard let scheme = url.firstRange(of: "://"), let mark = url.firstIndex(of: "?"),
            let slash = url[scheme.upperBound...].firstIndex(of: "/"),
            let path = String(url[slash..<mark]).removingPercentEncoding
        else { return nil }
        func value(_ name: String) -> String? {
            url[mark...].firstRange(of: name + "=").map { String(url[$0.upperBound...].prefix { $0 != "&" }) }
        }
        guard let time = value("X-Amz-Date"), let life = value("X-Amz-Expires").flatMap({ Int($0) }) else { return nil }
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        guard let date = try? style.parse(time) else { return nil }
        self.path = path
        expiresAt = Int(date.timeIntervalSince1970) + life
    }
}
