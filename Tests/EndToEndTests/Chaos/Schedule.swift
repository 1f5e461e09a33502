import TestSupport

/// What is done to gateways, database and policy in a run. The same seed, length and kinds make the same schedule; what
/// comes of it depends on the machine as well.
struct Schedule: Sendable {
    /// What can go wrong.
    enum Fault: Sendable, Equatable {
        /// A gateway is killed (SIGKILL) and started again.
        case kill(gateway: Int)
        /// A gateway stands still (SIGSTOP, SIGCONT).
        case stop(gateway: Int, seconds: Double)
        /// All sessions of gateways at the database are ended.
        case endSessions
        /// All statements of gateways are cancelled.
        case cancelStatements
        /// All processes of the database are killed (SIGKILL); it is gone for a while.
        case killDatabase(seconds: Double)
    }

    /// The kinds of faults, for runs in which not all of them happen.
    enum Kind: CaseIterable, Sendable {
        case kill, stop, sessions, statements, database
    }

    /// What admins do, each to what is its own.
    enum Step: Sendable, Equatable {
        /// Revokes the grant of a user, or gives it again.
        case toggleGrant(user: Int)
        /// Removes the API key of a user, or makes another.
        case toggleKey(user: Int)
        /// Removes the ticket of a user, or makes another.
        case toggleTicket(user: Int)
        /// Has the bucket answer with redirects, or not.
        case toggleRedirects
        /// Gives a quota another limit, by so many hundredths of what it had at the beginning.
        case limit(quota: Int, percent: Int)
    }

    /// Something at a time, in seconds since the run began.
    struct Timed<Event: Sendable & Equatable>: Sendable, Equatable {
        var at: Double
        var event: Event
    }

    let seed: UInt64
    let seconds: Double
    var faults: [Timed<Fault>] = []
    /// What each admin does, one after the other.
    var steps: [[Timed<Step>]] = []

    static let gateways = 3

    /// Draws a schedule.
    init(seed: UInt64, seconds: Double, kinds: [Kind]) {
        self.seed = seed
        self.seconds = seconds
        var generator = SeededGenerator(seed: seed, stream: -1)
        if !kinds.isEmpty {
            // Each kind once, and then at random.
            var kindsToCome = kinds.shuffled(using: &generator)
            for at in Self.times(every: 0.2...0.8, until: seconds, using: &generator) {
                let kind = kindsToCome.popLast() ?? kinds.randomElement(using: &generator) ?? .kill
                // The database is gone for longer than anything else: it is killed seldom.
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

    /// Admins share out the users, so that no two of them change the same.
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
