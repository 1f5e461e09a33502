import Foundation
import Glibc
import HTTPTesting
import Synchronization
import TestSupport
import Testing

extension LoadTests {
    /// An update under load: one program migrates while the gateways of another serve, takes their place, and finishes.
    ///
    /// `SLUICE_TEST_UPDATE_OLD` and `SLUICE_TEST_UPDATE_NEW` are the paths of the programs. By default each is the one
    /// that was built: gateways take the place of others, but nothing waits for `--finish`.
    @Suite(.timeLimit(.minutes(10))) struct UpdateRunTests {
        private static let clients = 8
        private static let old = ProcessInfo.processInfo.environment["SLUICE_TEST_UPDATE_OLD"] ?? Program.path
        private static let new = ProcessInfo.processInfo.environment["SLUICE_TEST_UPDATE_NEW"] ?? Program.path

        /// State that clients and the test share.
        private final class Course: Sendable {
            let tally = Tally()
            let isOver = Flag()
            let stale = Atomic(0)
            let revokes = Atomic(0)
            /// The gateways that get requests.
            let ports = Mutex<[UInt16]>([])
            private let counts: Mutex<[Int]>
            private let slowest = Mutex(Duration.zero)

            init(clients: Int) { counts = Mutex(Array(repeating: 0, count: clients)) }

            func port(for client: Int) -> UInt16 { ports.withLock { $0[client % $0.count] } }

            func noteTurn(of client: Int, took duration: Duration) {
                counts.withLock { $0[client] += 1 }
                slowest.withLock { $0 = max($0, duration) }
            }

            /// The longest request since the last call.
            func takeSlowest() -> Duration { slowest.withLock { exchange(&$0, with: .zero) } }

            /// Waits until each client has had some more answers.
            func wait(forTurns turns: Int) async throws {
                let goals = counts.withLock { $0.map { $0 + turns } }
                try await waitUntil("all clients go on", seconds: 60) {
                    counts.withLock { counts in zip(counts, goals).allSatisfy { $0 >= $1 } }
                }
            }
        }

        @Test func `an update fails no request, loses no row and gives no stale link`() async throws {
            let course = Course(clients: Self.clients + 1)
            try await Deployment.with(program: Self.old, gateways: 3) { site in
                let user = try await site.makeUser("alice")
                let racer = try await site.makeUser("racer")
                try await site.allowAsking(by: [user], in: "update")
                course.ports.withLock { $0 = site.gateways.prefix(2).map(\.port) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await onThreads(Self.clients) { client in try Self.ask(client, by: user, course) }
                    }
                    group.addTask {
                        try await onThread { try Self.revoke(Self.clients, racer, admin: site.admin, course) }
                    }
                    group.addTask {
                        defer { course.isOver.raise() }
                        try await Self.update(site, course, user)
                    }
                    try await group.waitForAll()
                }
                let rows = try await site.number("SELECT count(*) FROM issuances")
                #expect(rows == course.tally.count(of: 201))
                if Self.new != Self.old {
                    print("rows \(rows), revokes \(course.revokes.load(ordering: .relaxed))")
                }
            }
            #expect(course.tally.wrong.isEmpty, "\(course.tally.wrong)")
            #expect(course.tally.lost == 0)
            #expect(course.stale.load(ordering: .relaxed) == 0)
            #expect(course.revokes.load(ordering: .relaxed) > 10)
        }

        // MARK: - The update

        /// The third gateway is stopped, as a paused container is, and not in use.
        private static func update(_ site: Deployment, _ course: Course, _ user: User) async throws {
            let before = site.gateways
            func step(_ name: String, _ turns: Int = 40, _ act: () async throws -> Void) async throws {
                let start = ContinuousClock.now
                try await act()
                let took = ContinuousClock.now - start
                try await course.wait(forTurns: turns)
                guard new != old else { return }
                print("\(name): \(took), slowest request \(course.takeSlowest()), answers \(course.tally.statuses)")
            }
            try await step("the old version serves") {}
            try await step("expand") { _ = try await Program.run(["migrate"], of: new, environment: site.environment) }
            try await step("refused to finish") {
                guard new != old else { return }
                let error = await #expect(throws: ProgramError.self) { try await finish(site) }
                #expect(error?.output.contains("seen") == true, "\(String(describing: error))")
            }
            try await step("swap") {
                let after = [try await site.startGateway(of: new), try await site.startGateway(of: new)]
                course.ports.withLock { $0 = [after[0].port, before[1].port] }
                try await course.wait(forTurns: 3)
                course.ports.withLock { $0 = after.map(\.port) }
                try await course.wait(forTurns: 3)
                for gateway in before.prefix(2) {
                    await site.end(gateway) {
                        let status = await gateway.terminate()
                        #expect(status == 0)
                    }
                }
            }
            before[2].process.signal(SIGSTOP)
            try await step("finish") {
                try await waitUntil("the stopped gateway counts no more", seconds: 90) {
                    (try? await finish(site)) != nil
                }
            }
            before[2].process.signal(SIGCONT)
            try await step("the new version serves") {}
            guard new != old else { return }
            let late = site.admin.at(before[2].port)
            try await waitUntil("the gateway that is left says why it refuses", seconds: 20) {
                let answer = try await late.call("GET", "/readyz")
                return answer.status == 503 && answer.text.contains("start the newer program")
            }
            let refused = try await user.client.at(before[2].port).ask(.download("k", from: "update"))
            let admin = try await late.call("GET", "/admin/v1/grants")
            for answer in [refused, admin] {
                #expect(answer.status == 503 && answer["Retry-After"] != nil, "\(answer.text)")
            }
            let again = await #expect(throws: ProgramError.self) {
                try await GatewayProcess.start(site.environment, of: old)
            }
            #expect(again?.output.contains("start the newer program") == true)
        }

        @discardableResult
        private static func finish(_ site: Deployment) async throws -> String {
            try await Program.run(["migrate", "--finish"], of: new, environment: site.environment)
        }

        // MARK: - The clients

        private static func ask(_ client: Int, by user: User, _ course: Course) throws {
            var connection = KeptConnection(keepsContract: false)
            var port: UInt16 = 0
            let request = try user.client.request("POST", "/v1/presigned-urls", .download("k", from: "update"))
            while !course.isOver.isRaised {
                let next = course.port(for: client)
                if next != port { connection = KeptConnection(keepsContract: false) }
                port = next
                let start = ContinuousClock.now
                do {
                    course.tally.note(try connection.exchange(request, port: port), expected: [201])
                } catch {
                    course.tally.noteLoss()
                }
                course.noteTurn(of: client, took: ContinuousClock.now - start)
            }
        }

        /// Gives a user a grant, uses it, revokes it, and asks again at once.
        private static func revoke(_ client: Int, _ user: User, admin: APIClient, _ course: Course) throws {
            var connection = KeptConnection(keepsContract: false)
            var port: UInt16 = 0
            let question = try user.client.request("POST", "/v1/presigned-urls", .download("k", from: "update"))
            let grant = Deployment.askingGrant(user.principal, in: "update")
            while !course.isOver.isRaised {
                let next = course.port(for: client + course.revokes.load(ordering: .relaxed))
                if next != port { connection = KeptConnection(keepsContract: false) }
                port = next
                let start = ContinuousClock.now
                var wasRepeated = false
                /// Requests a change until it has a final answer: one that waits for long is told to come back.
                func change(_ method: String, _ target: String, _ body: JSON? = nil) throws -> RawResponse {
                    let headers = method == "POST" ? [(name: "Idempotency-Key", value: UUID().uuidString)] : []
                    let request = try admin.request(method, target, body, headers: headers)
                    let end = ContinuousClock.now + .seconds(10)
                    wasRepeated = false
                    while true {
                        let answer = try connection.exchange(request, port: port)
                        guard answer.status == 503 || answer.text.contains("IdempotencyKeyInUse"),
                            !course.isOver.isRaised, ContinuousClock.now < end
                        else { return answer }
                        wasRepeated = true
                        Thread.sleep(forTimeInterval: 0.01)
                    }
                }
                let made = try change("POST", "/admin/v1/grants", grant)
                guard made.status == 201, let id = try JSON(made.body)["id"].text else {
                    course.tally.complain("grant: \(made.text)")
                    continue
                }
                course.tally.note(try connection.exchange(question, port: port), expected: [201])
                let removed = try change("DELETE", "/admin/v1/grants/\(id)")
                // A change that was told to come back may have been made.
                if removed.status != 204, removed.status != 404 || !wasRepeated {
                    course.tally.complain("revoke: \(removed.text)")
                }
                let late = try connection.exchange(question, port: port)
                course.tally.note(late, expected: [403])
                if late.status == 201 { course.stale.add(1, ordering: .relaxed) }
                course.revokes.add(1, ordering: .relaxed)
                course.noteTurn(of: client, took: ContinuousClock.now - start)
            }
        }
    }
}
