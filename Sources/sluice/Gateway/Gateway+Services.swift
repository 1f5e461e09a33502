import FoundationEssentials
import GatewayCore
import GatewayPostgres
import LibPQ
import MicroHTTPD
import ServiceLifecycle

extension Gateway {
    /// Creates the services besides the listeners, in starting order. Services that others need come first.
    static func backgroundServices(
        _ settings: Settings, _ parts: SharedParts, _ multipart: MultipartUploads
    ) -> [any Service] {
        let (connections, logger) = (parts.connections, parts.logger)
        let workers: [any Service] = [
            parts.ledger, parts.watch, parts.denials, parts.refusals, parts.figures,
            parts.heartbeat, parts.policyListener,
            PartitionUpkeep(
                connection: connections.background, sums: connections.sums,
                schedule: .init(
                    daysAhead: settings.ledgerDaysAhead, keepDays: settings.ledgerKeepDays,
                    keepRefusalsDays: settings.refusalsKeepDays),
                clock: parts.clock, logger: logger),
            UsageUpkeep(connection: connections.sums, logger: logger),
            IndexUpkeep(connection: connections.indexing, logger: logger),
            parts.idempotency,
            ReservationSweeper(
                connection: connections.background, verifier: parts.stored, clock: parts.clock, logger: logger
            ) { upload async throws(StoreFailure) in try await multipart.discardAgain(upload) },
            MultipartUpkeep(connection: connections.background, clock: parts.clock, logger: logger) {
                upload async throws(GatewayError) in try await multipart.clean(upload)
            },
        ]
        return connections.services + [BackgroundServices(services: workers)]
    }

    /// Puts all services into starting order, with those that a supervised process has.
    static func ordered(
        _ background: [any Service], _ drainDelay: DrainDelay, supervision: Supervision?, _ parts: SharedParts
    ) -> [any Service] {
        let servers = drainDelay.servers
        var services = background
        if let notifier = supervision?.notifier {
            services.insert(Watchdog(notifier: notifier, servers: servers, logger: parts.logger), at: 0)
        }
        // While the API drains, the admin listener still answers.
        for server in servers.reversed() { services.append(server) }
        if let supervision {
            services.append(
                Reloading(
                    heartbeat: parts.heartbeat, supervision: supervision, servers: servers,
                    masterKeys: parts.masterKeys, cache: parts.cache, sessions: parts.sessions,
                    connections: parts.connections, draining: drainDelay.draining, logger: parts.logger))
        }
        services.append(drainDelay)
        return services
    }
}
