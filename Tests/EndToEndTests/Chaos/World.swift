import Foundation
import Glibc
import PostgresTesting
import Synchronization
import TestSupport
import Testing

/// Gateways on a database, their users, and the faults that happen to them.
final class World: Sendable {
    /// The roles of those who ask. Each role has something else that changes.
    enum Role: Int, CaseIterable, Sendable {
        /// Nothing about it changes.
        case steady
        /// Its grant comes and goes, as for all roles but the first.
        case plain
        /// It has a quota of URLs and exhausts it.
        case limited
        /// It has a quota of bytes and exhausts it.
        case weighed
        /// Its API key comes and goes.
        case keyed
        /// It also asks with a ticket, which comes and goes.
        case ticketed

        var name: String { "chaos-\(self)" }
        var principal: String { "user:\(name)" }
    }

    /// A reachable gateway, in one of its lives.
    struct Door: Sendable {
        var gateway: Int
        var life: Int
        var port: UInt16
    }

    /// A quota whose limit changes, with its initial limit.
    struct Quota: Sendable {
        var id: String
        var limit: Int
    }

    private struct Slot: Sendable {
        var process: GatewayProcess
        var life = 0
        /// Whether a fault is being applied to it.
        var isBusy = false
    }

    static let admins = 2

    let site: Deployment
    let ground: AskingGround
    /// Records the run. Its clock gives all times.
    let recorder: Recorder
    private let slots: Mutex<[Slot]>
    /// Whether the database is being killed or started.
    private let isDatabaseBusy = Mutex(false)
    let personas: Mutex<[Persona]>
    /// The quotas of users, by role.
    let quotas: [Int: Quota]
    let adminToken: String

    init(
        site: Deployment, ground: AskingGround, personas: [Persona], quotas: [Int: Quota], recorder: Recorder
    ) {
        self.site = site
        self.ground = ground
        self.quotas = quotas
        adminToken = site.admin.token
        self.personas = Mutex(personas)
        self.recorder = recorder
        slots = Mutex(site.gateways.map { Slot(process: $0) })
    }

    /// The address of a gateway; `nil` while it is known to be dead.
    func door(_ gateway: Int) -> Door? {
        slots.withLock { slots in
            let slot = slots[gateway]
            return slot.process.process.isRunning
                ? Door(gateway: gateway, life: slot.life, port: slot.process.port) : nil
        }
    }

    /// The address of this gateway, or of another where it is dead.
    func openDoor(_ gateway: Int) -> Door? {
        // A lazy sequence would ask twice for the door that it finds, and a gateway may die in between.
        for step in 0..<Schedule.gateways {
            if let door = door((gateway + step) % Schedule.gateways) { return door }
        }
        return nil
    }

    /// Applies the faults of a schedule, and repairs everything before it returns.
    func befall(_ faults: [Schedule.Timed<Schedule.Fault>]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fault in faults {
                group.addTask {
                    try await Task.sleep(for: .seconds(max(0, fault.at - self.recorder.now)))
                    try await self.befall(fault.event)
                }
            }
            try await group.waitForAll()
        }
    }

    private func befall(_ fault: Schedule.Fault) async throws {
        switch fault {
        case .kill(let gateway): try await take(gateway) { try await kill(gateway, $0) }
        case .stop(let gateway, let seconds): try await take(gateway) { try await stop(gateway, $0, seconds: seconds) }
        case .endSessions: await tell("pg_terminate_backend")
        case .cancelStatements: await tell("pg_cancel_backend")
        case .killDatabase(let seconds):
            guard isDatabaseBusy.withLock({ exchange(&$0, with: true) }) == false else { return }
            try await site.cluster.kill()
            try await Task.sleep(for: .seconds(seconds))
            try await site.cluster.start()
            isDatabaseBusy.withLock { $0 = false }
        }
    }

    /// Reserves a gateway while `body` runs; does nothing if a fault is already being applied to it.
    private func take(_ gateway: Int, _ body: (Slot) async throws -> Void) async throws {
        let slot: Slot? = slots.withLock { slots in
            guard !slots[gateway].isBusy else { return nil }
            slots[gateway].isBusy = true
            return slots[gateway]
        }
        guard let slot else { return }
        try await body(slot)
        slots.withLock { $0[gateway].isBusy = false }
    }

    private func kill(_ gateway: Int, _ slot: Slot) async throws {
        recorder.begin(.killed, gateway, slot.life)
        await site.end(slot.process) { await slot.process.crash() }
        var next: GatewayProcess?
        try await waitUntil("a gateway starts again") {
            // A gateway may refuse to start without a database.
            next = try? await site.startGateway()
            return next != nil
        }
        guard let next else { return }
        slots.withLock { $0[gateway] = Slot(process: next, life: slot.life + 1, isBusy: true) }
        recorder.end(.killed, gateway, slot.life)
    }

    private func stop(_ gateway: Int, _ slot: Slot, seconds: Double) async throws {
        recorder.begin(.stopped, gateway, slot.life)
        slot.process.process.signal(SIGSTOP)
        defer {
            slot.process.process.signal(SIGCONT)
            recorder.end(.stopped, gateway, slot.life)
        }
        try await Task.sleep(for: .seconds(seconds))
    }

    /// Runs a function on all sessions of gateways. If the database is down, there are none.
    private func tell(_ function: String) async {
        let others = "datname = current_database() AND application_name <> 'tests'"
        _ = try? await site.number("SELECT count(\(function)(pid)) FROM pg_stat_activity WHERE \(others)")
    }

    /// Notes which gateways ended by themselves, and how long the others take to issue again.
    func awaitRevival() async throws {
        let steady = personas.withLock { $0[Role.steady.rawValue] }
        for gateway in 0..<Schedule.gateways {
            guard let door = door(gateway) else {
                recorder.note(Revival(gateway: gateway, seconds: nil))
                let life = slots.withLock { $0[gateway].life }
                recorder.begin(.ended, gateway, life)
                continue
            }
            let client = steady.asker.user.client.at(door.port)
            let begin = recorder.now
            let isBack: Void? = try? await waitUntil("it issues", seconds: 3 * Checker.patience) {
                try await client.ask(.download("revival/\(UUID().uuidString)", from: ground.bucket)).status == 201
            }
            recorder.note(Revival(gateway: gateway, seconds: isBack.map { recorder.now - begin }))
        }
    }
}

/// A user who asks, in its present state.
struct Persona: Sendable {
    var asker: Asker
    /// The API key with which it asks.
    var key: Subject
    /// The identifier of its grant; `nil` while it has none.
    var grant: String?
    /// Its own ticket, if any, and whether the ticket should still be valid.
    var ticket: (id: String, text: String)?
    var hasKey = true
    var hasTicket = false
}
