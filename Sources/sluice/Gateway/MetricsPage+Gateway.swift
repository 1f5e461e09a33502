import Figures
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibCrypto
import LibPQ
import LineLogging
import MicroHTTPD
import PrometheusMetrics

// Every series but those of requests, which RequestMetrics adds. docs/metrics.md lists all of them.

extension MetricsPage {
    /// Adds the series of the listeners, that of the API first.
    func addListeners(_ servers: [HTTPServer], _ bodyMemory: BodyMemory) {
        for (server, name) in zip(servers, ["api", "admin"]) {
            let labels = [(name: "listener", value: name)]
            addGauge("sluice_http_connections", "Open connections of clients.", labels: labels) {
                Double(server.connectionCount)
            }
            addGauge("sluice_http_connections_limit", "Most connections that may be open.", labels: labels) {
                Double(server.connectionLimit)
            }
            addCounter(
                "sluice_http_connections_refused_total", "Connections refused because there were too many.",
                labels: labels,
                server.refusedConnections)
            addGauge(
                "sluice_tls_certificate_expiry_timestamp_seconds",
                "When the certificate that new clients see expires, or one of its issuers' beside it.", labels: labels
            ) { server.certificate.flatMap { try? CertificateChain(pem: $0) }.map { Double($0.expiresAt) } ?? 0 }
        }
        addGauge("sluice_http_body_memory_bytes", "Bytes of requests' bodies in memory.") { Double(bodyMemory.used) }
        addGauge("sluice_http_body_memory_limit_bytes", "Most bytes of requests' bodies in memory.") {
            Double(bodyMemory.limit)
        }
    }

    /// Adds the series of what the gateway does.
    func add(_ parts: SharedParts) {
        let issued = parts.issuing.issued
        for delivery in Delivery.allCases {
            for scheme in LinkScheme.allCases {
                for action in delivery.actions where scheme.signs(delivery, for: action) {
                    addCounter(
                        "sluice_issued_total", "Credentials that were recorded and handed out.",
                        labels: [
                            ("delivery", delivery.rawValue), ("scheme", scheme.name), ("action", action.rawValue),
                        ], issued[delivery, scheme, action])
                }
            }
        }
        addLedger(parts.ledger)
        addDatabase(parts)
        addDatabaseReading(parts.figures)
        addPolicy(parts.cache)
        addOutbound(parts.cloud.figures)
    }

    private func addLedger(_ ledger: PostgresLedger) {
        let figures = ledger.figures
        addHistogram(
            "sluice_ledger_recording_duration_seconds", "Time of one statement that records a batch.",
            figures.durations)
        addHistogram("sluice_ledger_batch_size", "Items in one statement that records.", figures.batchSizes)
        for (outcome, counter) in figures.items.all {
            addCounter(
                "sluice_ledger_items_total", "Items that were to be recorded, by what became of them.",
                labels: [("outcome", outcome.rawValue)], counter)
        }
        addGauge("sluice_ledger_queue_length", "Items that wait to be recorded.") { Double(ledger.waiting) }
        addGauge("sluice_ledger_queue_capacity", "Most items that may wait for connections that are well.") {
            Double(ledger.capacity)
        }
    }

    private func addDatabase(_ parts: SharedParts) {
        let (outage, watch, policy) = (parts.connections.outage, parts.watch, parts.policyListener)
        let keyWatch = parts.keyWatch
        addGauge("sluice_database_up", "0 during an outage of PostgreSQL, otherwise 1.") { outage.isUnderWay ? 0 : 1 }
        addCounter("sluice_database_outages_total", "Outages of PostgreSQL that began.", outage.begun)
        addCounter(
            "sluice_database_connections_opened_total",
            "Connections to PostgreSQL that were established, also by upkeep and imports, which open their own each time.",
            outage.connections)
        addCounter(
            "sluice_database_connection_failures_total", "Attempts to connect to PostgreSQL that failed.",
            outage.failedConnections)
        addCounter(
            "sluice_database_primary_changes_total", "Times that another server became the primary.",
            parts.connections.primaryChanges)
        addCounter(
            "sluice_database_setbacks_total", "Times that the database went back in time.", parts.connections.setbacks)
        addGauge(
            "sluice_database_clock_difference_seconds",
            "Seconds by which PostgreSQL's clock is ahead of the gateway's; 0 until it is known."
        ) { watch.clockDifference ?? 0 }
        let help = "Whether a check of /readyz passes."
        addGauge("sluice_ready", help, labels: [("check", "recordings")]) { watch.flaws().recordings == nil ? 1 : 0 }
        addGauge("sluice_ready", help, labels: [("check", "clock")]) { watch.flaws().clock == nil ? 1 : 0 }
        addGauge("sluice_ready", help, labels: [("check", "schema")]) { watch.flaws().schema == nil ? 1 : 0 }
        addGauge("sluice_ready", help, labels: [("check", "policy")]) { policy.flaw == nil ? 1 : 0 }
        addGauge("sluice_ready", help, labels: [("check", "masterKeys")]) { keyWatch.check.flaw == nil ? 1 : 0 }
    }

    private func addDatabaseReading(_ figures: DatabaseFigures) {
        addGauge("sluice_schema_version", "Last migration of the database.") { Double(figures.reading.schemaVersion) }
        addGauge("sluice_schema_expected_version", "Last migration that this program carries.") {
            Double(DatabaseFigures.expectedSchemaVersion)
        }
        let gateways = "Gateways that are alive, of this version and of others."
        addGauge("sluice_gateways", gateways, labels: [("version", "same")]) { Double(figures.reading.gateways) }
        addGauge("sluice_gateways", gateways, labels: [("version", "other")]) { Double(figures.reading.otherGateways) }
        addGauge(
            "sluice_ledger_partitions_ahead",
            "Days after today for which the ledger has a partition; -1 if today has none."
        ) { Double(figures.reading.partitionsAhead) }
        addGauge(
            "sluice_ledger_partitions_expired", "Days past retention that still have a partition of the ledger."
        ) { Double(figures.reading.partitionsExpired) }
        let reservations = "Reservations of byte quotas whose upload may be under way, or that can be settled."
        addGauge("sluice_settlement_reservations", reservations, labels: [("state", "alive")]) {
            Double(figures.reading.aliveReservations)
        }
        addGauge("sluice_settlement_reservations", reservations, labels: [("state", "due")]) {
            Double(figures.reading.dueReservations)
        }
        addGauge("sluice_settlement_bytes", "Bytes that reservations hold.") { Double(figures.reading.reservedBytes) }
        addGauge("sluice_settlement_due_age_seconds", "Time for which the first reservation has been due.") {
            figures.reading.dueSeconds
        }
        addGauge("sluice_policy_lag_changes", "Changes of policy that the gateway had not read when it looked.") {
            Double(figures.reading.policyLag)
        }
        addGauge(
            "sluice_database_read_timestamp_seconds",
            "When schema, gateways, partitions and lag were last read; 0 before the first time."
        ) { figures.reading.readAt }
        addGauge(
            "sluice_settlement_read_timestamp_seconds", "When settlement was last read; 0 before the first time."
        ) { figures.reading.reservationsReadAt }
    }

    private func addPolicy(_ cache: PolicyCache) {
        addGauge("sluice_policy_position", "Number of the last change of policy that was read.") {
            Double(cache.position?.sequence ?? 0)
        }
        for (lookUp, counter) in cache.lookUps.all {
            addCounter(
                "sluice_policy_lookups_total", "Look-ups of a caller's policy: from memory, or with rows to load.",
                labels: [("outcome", lookUp.rawValue)], counter)
        }
        addGauge("sluice_policy_cache_entries", "Keys whose rows are in memory.") { Double(cache.count) }
        addGauge("sluice_policy_cache_bytes", "Approximate memory of the rows.") { Double(cache.approximateBytes) }
        addGauge("sluice_policy_cache_limit_bytes", "Most memory for the rows of existing keys.") {
            Double(cache.maxBytes)
        }
    }

    private func addOutbound(_ figures: OutboundFigures) {
        for (purpose, figures) in figures.all {
            let kind = (name: "kind", value: purpose.rawValue)
            for (outcome, counter) in figures.outcomes.all {
                addCounter(
                    "sluice_outbound_requests_total", "Requests to stores, token services and servers of keys.",
                    labels: [kind, ("outcome", outcome.rawValue)], counter)
            }
            addHistogram(
                "sluice_outbound_request_duration_seconds", "Time of a request, with its wait for a turn.",
                labels: [kind],
                figures.durations)
            addGauge("sluice_outbound_requests_in_flight", "Requests that wait or are under way.", labels: [kind]) {
                Double(figures.inFlight.value)
            }
        }
    }

    /// Adds the series of the log, the process and the build.
    func addProcess() {
        addCounter("sluice_log_lines_total", "Lines of the log.") { Double(LogSetup.lines) }
        addCounter("sluice_log_lines_dropped_total", "Lines of the log that could not be written.") {
            Double(LogSetup.droppedLines)
        }
        addGauge(
            "sluice_build_info", "Always 1; the label has the version.", labels: [("version", ProgramVersion.current)]
        ) {
            1
        }
        let process = ProcessFigures()
        addCounter("process_cpu_seconds_total", "Time of processors that the process used.") {
            process.status?.processorSeconds ?? 0
        }
        addGauge("process_resident_memory_bytes", "Resident memory of the process.") {
            process.status?.residentBytes ?? 0
        }
        addGauge("process_virtual_memory_bytes", "Virtual memory of the process.") { process.status?.virtualBytes ?? 0 }
        addGauge("process_threads", "Threads of the process.") { process.status?.threads ?? 0 }
        addGauge("process_start_time_seconds", "When the process started, in seconds since 1970.") {
            process.startedAt
        }
        addGauge("process_open_fds", "Files that the process has open.") { process.openFiles ?? 0 }
        addGauge("process_max_fds", "Files that the process may have open.") { process.maxOpenFiles ?? 0 }
    }
}
