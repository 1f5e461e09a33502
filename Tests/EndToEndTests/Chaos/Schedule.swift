import TestSupport

/// The faults and policy changes of a run. The same seed, length and kinds give the same schedule; its effects also
/// depend on the machine.
struct Schedule: Sendable {
    /// The faults that can happen.
    enum Fault: Sendable, Equatable {
        /// A gateway is killed (SIGKILL) and started again.
        case kill(gateway: Int)
        /// A gateway is suspended (SIGSTOP, SIGCONT).
        case stop(gateway: Int, seconds: Double)
        /// All sessions of gateways at the database are ended.
        case endSessions
        /// All statements of gateways are cancelled.
        case cancelStatements
        /// All processes of the database are killed (SIGKILL); it is down for a while.
        case killDatabase(seconds: Double)
    }

    /// The kinds of faults, for runs that use only some of them.
    enum Kind: CaseIterable, Sendable {
        case kill, stop, sessions, statements, database
    }

    /// The acts of admins. Each admin changes only its own users.
    enum Step: Sendable, Equatable {
        /// Revokes the grant of a user, or creates it again.
        case toggleGrant(user: Int)
        /// Removes the API key of a user, or creates another.
        case toggleKey(user: Int)
        /// Removes the ticket of a user, or creates another.
        case toggleTicket(user: Int)
        /// Switches the bucket's redirects on or off.
        case toggleRedirects
        /// Sets the limit of a quota to a percentage of its initial limit.
        case limit(quota: Int, percent: Int)
    }

    /// An event with its time, in seconds since the start of the run.
    struct Timed<Event: Sendable & Equatable>: Sendable, Equatable {
        var at: Double
        var event: Event
    }

    let seed: UInt64
    let seconds: Double
    var faults: [Timed<Fault>] = []
    /// The steps of each admin, in order.
    var steps: [[Timed<Step>]] = []

    static let gateways = 3

    /// Draws a schedule.
    init(seed: UInt64, seconds: Double, kinds: [Kind]) {
        self.seed = seed
        self.seconds = seconds
        var generator = SeededGenerator(seed: seed, stream: -1)
        if !kinds.isEmpty {
            // Each kind once, then kinds at random.
            var kindsToCome = kinds.shuffled(using: &generator)
            for at in Self.times(every: 0.2...0.8, until: seconds, using: &generator) {
                let kind = kindsToCome.popLast() ?? kinds.randomElement(using: &generator) ?? .kill
                // A kill of the database lasts longer than any other fault, so it happens seldom.
                guard kind != .database || at < seconds / 2 || generator.once(in: 4) else { continue }
                faults.append(Timed(at: at, event: Self.fault(kind, using: &generator)))
            }
        }
        for admin in 0..<World.admins {
            steps.append(
                Self.times(every: 0.02...0.12, until: seconds, using: &generator).map {
                    Timed(at: $0, event: Self.step(of: admin, using: &generator))
                })
        }
    }

    private static func times(
        every gap: ClosedRange<Double>, until end: Double, using generator: inout SeededGenerator
    ) -> [Double] {
        var times: [Double] = []
        var at = Double.random(in: gap, using: &generator)
        while at < end {
            times.append(at)
            at += Double.random(in: gap, using: &generator)
        }
        return times
    }

    private static func fault(_ kind: Kind, using generator: inout SeededGenerator) -> Fault {
        let gateway = Int.random(in: 0..<gateways, using: &generator)
        switch kind {
        case .kill: return .kill(gateway: gateway)
        case .stop: return .stop(gateway: gateway, seconds: .random(in: 0.1...1.2, using: &generator))
        case .sessions: return .endSessions
        case .statements: return .cancelStatements
        case .database: return .killDatabase(seconds: .random(in: 0...1, using: &generator))
        }
    }

    /// The admins divide the users among themselves, so that no two of them change the same user.
    private static func step(of admin: Int, using generator: inout SeededGenerator) -> Step {
        let users = World.Role.allCases.filter { $0.rawValue % World.admins == admin && $0 != .steady }
        let user = users.randomElement(using: &generator) ?? .plain
        switch (user, Int.random(in: 0..<4, using: &generator)) {
        case (.keyed, 0), (.keyed, 1): return .toggleKey(user: user.rawValue)
        case (.ticketed, 0), (.ticketed, 1): return .toggleTicket(user: user.rawValue)
        case (.limited, 0), (.weighed, 0):
            return .limit(quota: user.rawValue, percent: .random(in: 25...100, using: &generator))
        case (.plain, 0): return .toggleRedirects
        default: return .toggleGrant(user: user.rawValue)
        }
    }
}
