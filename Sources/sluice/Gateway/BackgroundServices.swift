import ServiceLifecycle

/// What a gateway does beside answering. All of it stops at the same time: a service group would stop one service after
/// the other, and while PostgreSQL hangs, each takes seconds for its last statements.
struct BackgroundServices: Service, CustomStringConvertible {
    let services: [any Service]

    /// Names them in the log, where one ends by itself.
    var description: String { "the services in the background" }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services { group.addTask { try await service.run() } }
            // None ends before it is told to. If one does all the same, the gateway ends.
            _ = try await group.next()
            if !Task.isShuttingDownGracefully { group.cancelAll() }
            try await group.waitForAll()
        }
    }
}
