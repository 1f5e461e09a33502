import FoundationEssentials
import GatewayPostgres
import LibPQ

extension Doctor {
    /// Looks at the database with the settings of the gateway.
    ///
    /// - Returns: The URLs that its rows name; `nil` if they cannot be read.
    mutating func examineDatabase() async -> [CalledEndpoint]? {
        guard let database else {
            report.note(.database, .skipped, "The settings of the database have mistakes.")
            return nil
        }
        do throws(PostgresError) {
            let configuration = try database.configuration(
                "sluice-doctor", sessionSettings: DatabaseDiagnosis.sessionSettings, responseTimeout: .seconds(15))
            let connection = PostgresConnection(configuration, logger: logger)
            let other = PostgresConnection(configuration, logger: logger)
            let endpoints = await examine(DatabaseDiagnosis(connection: connection), connection, other)
            await connection.close()
            await other.close()
            return endpoints
        } catch {
            report.note(.database, .failed, "\(error)")
            return nil
        }
    }

    private mutating func examine(
        _ diagnosis: DatabaseDiagnosis, _ connection: PostgresConnection, _ other: PostgresConnection
    ) async -> [CalledEndpoint]? {
        do {
            judge(try await diagnosis.server())
            // The first answer took the time to connect; this one shows the clock.
            let (sent, start) = (Date.now, ContinuousClock.now)
            let facts = try await diagnosis.server()
            let middle = sent.addingTimeInterval((ContinuousClock.now - start) / .seconds(1) / 2)
            judgeDurability(facts)
            judgeClock(facts.clock.timeIntervalSince(middle))
            // A standby gives no transaction a number.
            if !facts.isStandby { try await judgeLocks(DatabaseTrial(connection, other)) }
            guard try await judgeSchema(connection, diagnosis) else {
                for subject in [DoctorReport.Subject.roles, .masterKey, .gateways] {
                    report.note(subject, .skipped, "The tables do not fit this version.")
                }
                return nil
            }
            judge(try await diagnosis.login())
            judge(missingDays: try await diagnosis.missingDays())
            judge(try await diagnosis.lockRoom())
            let gateways = try await diagnosis.runningGateways()
            try await judgeMasterKey(connection, diagnosis, gateways)
            judge(gateways)
            return try await diagnosis.endpoints()
        } catch let error as PostgresError {
            report.note(.database, .failed, "\(error)", advice: error.advice(for: .gateway))
        } catch {
            report.note(.database, .failed, "\(error)")
        }
        return nil
    }

    private mutating func judge(missingDays days: [String]) {
        guard !days.isEmpty else { return }
        report.note(
            .schema, .failed, "The ledger has no partition for \(days.joined(separator: " and ")) (UTC).",
            advice: "Nothing can be issued on such a day. Run 'sluice migrate', which makes them; "
                + "attach a table of that day again, if there is one.")
    }

    private mutating func judge(_ locks: LockRoom) {
        guard locks.isShort else { return }
        report.note(
            .database, .warning,
            "The ledger has \(locks.days) days: a statement that reads all of them takes \(locks.ofLedger) locks, and "
                + "PostgreSQL has room for \(locks.room).",
            advice: "Set max_locks_per_transaction to \(locks.sufficientSetting) and restart PostgreSQL, or set "
                + "SLUICE_LEDGER_KEEP_DAYS. Without room, statements fail with 53200, \"out of shared memory\".")
    }

    private mutating func judge(_ facts: ServerFacts) {
        let flaws = facts.basicFlaws
        for flaw in flaws { report.note(.database, .failed, flaw.message, advice: flaw.advice) }
        if flaws.isEmpty {
            report.note(.database, .ok, "PostgreSQL \(facts.version) answers, database '\(facts.database)'.")
        }
        if facts.isStandby || facts.isReadOnly {
            report.note(
                .database, .failed, facts.isStandby ? "The server is a standby." : "Transactions are read-only.",
                advice: PostgresError.adviceOnReadOnly)
        }
    }

    private mutating func judgeDurability(_ facts: ServerFacts) {
        let flaws = facts.durabilityFlaws
        for flaw in flaws { report.note(.durability, .failed, flaw.message, advice: flaw.advice) }
        guard facts.synchronousCommit == "on" else {
            report.note(
                .durability, .failed, "A session that sets synchronous_commit to on has \(facts.synchronousCommit).",
                advice: "Connect without a pooler that shares sessions.")
            return
        }
        guard flaws.isEmpty else { return }
        report.note(
            .durability, .ok,
            facts.synchronousStandbys.isEmpty
                ? "Commits are durable. No standby is synchronous, so a failover may lose the last ones."
                : "Commits are durable, also on the synchronous standbys: \(facts.synchronousStandbys).")
    }

    private mutating func judgeClock(_ ahead: TimeInterval) {
        let allowed = Double(settings?.clockMaxDifference ?? Settings.defaultClockMaxDifference)
        let milliseconds = Int((abs(ahead) * 1000).rounded())
        let seconds = "\(milliseconds / 1000).\(String(1000 + milliseconds % 1000).dropFirst())"
        let direction = ahead < 0 ? "behind" : "ahead of"
        let difference = "The clock of PostgreSQL is \(seconds) s \(direction) this machine's"
        if abs(ahead) > allowed {
            report.note(
                .clock, .failed, "\(difference); at most \(Int(allowed)) s are allowed.",
                advice: "Set both by NTP. Until then gateways on this machine issue nothing.")
        } else if abs(ahead) > allowed / 2 {
            report.note(.clock, .warning, "\(difference).", advice: "Set both by NTP.")
        } else {
            report.note(.clock, .ok, "\(difference).")
        }
    }

    private mutating func judgeLocks(_ trial: DatabaseTrial) async throws {
        let flaws = try await trial.flaws(number: .random(in: 0...Int32.max))
        for flaw in flaws { report.note(.locks, .failed, flaw.message, advice: flaw.advice) }
        guard flaws.isEmpty else { return }
        report.note(.locks, .ok, "Advisory locks exclude other sessions, and statements see earlier commits.")
    }

    /// - Returns: Whether there is a schema, so that its tables can be read.
    private mutating func judgeSchema(
        _ connection: PostgresConnection, _ diagnosis: DatabaseDiagnosis
    ) async throws -> Bool {
        let migrator = Migrator(connection: connection, program: ProgramVersion.current, logger: logger)
        do {
            try await migrator.check()
            let leftovers = try await migrator.leftovers()
            if !leftovers.isEmpty {
                report.note(
                    .schema, .warning, "An update is not finished: \(leftovers) wait.",
                    advice: "Run 'sluice migrate --finish' once no gateway of the version before runs.")
            }
            let others = try await migrator.functionsThatDiffer()
            if !others.isEmpty {
                let more = others.count > 5 ? " and \(others.count - 5) more" : ""
                let names = others.prefix(5).joined(separator: ", ") + more
                report.note(
                    .schema, .warning, "Functions of the database are not those of this version: \(names).",
                    advice: "Run 'sluice migrate' of this version: until then, what it mends in them stays as it was.")
            }
        } catch let failure as Migrator.Failure {
            report.note(
                .schema, .failed, "\(failure)",
                advice: "Gateways of this version issue nothing until 'sluice migrate' or the newer program runs.")
            // Columns of another schema may be others.
            guard case .functionsMissing = failure else { return false }
        }
        let missing = try await diagnosis.missingFunctions()
        guard missing.isEmpty else {
            report.note(
                .schema, .failed, "Functions were dropped: \(missing.joined(separator: ", ")).",
                advice: "Run 'sluice migrate', which makes those of this version again.")
            return true
        }
        if report.findings.last?.check != .schema {
            report.note(.schema, .ok, "Tables and functions fit this version.")
        }
        return true
    }

    private mutating func judge(_ login: LoginFacts) {
        let flaws = login.flaws
        for flaw in flaws {
            report.note(.roles, flaw.isWarning ? .warning : .failed, flaw.message, advice: flaw.advice)
        }
        guard flaws.isEmpty else { return }
        report.note(
            .roles, .ok,
            "The login '\(login.name)' may read the tables, call the functions and append to the ledger and the logs. "
                + "It may not change those, nor create objects in the schema.")
    }

    private mutating func judgeMasterKey(
        _ connection: PostgresConnection, _ diagnosis: DatabaseDiagnosis, _ gateways: [RunningGateway]
    ) async throws {
        let sealed = try await diagnosis.sealedRows()
        let rows = sealed.map { "\($0.count) under '\($0.keyID)'" }.joined(separator: ", ")
        let stock = rows.isEmpty ? "No row is sealed yet." : "Sealed rows: \(rows)."
        guard let masterKeys else {
            report.note(.masterKey, .skipped, "The setting of the master key has mistakes. \(stock)")
            return
        }
        let outcome = try await MasterKeyCheck(connection: connection, keys: masterKeys).run()
        let clashes = masterKeys.clashes(with: gateways)
        let flaws = outcome.flaws + clashes
        for flaw in flaws {
            report.note(.masterKey, .failed, "\(flaw). \(stock)".capitalizedFirst, advice: flaw.advice)
        }
        for id in outcome.partial {
            report.note(
                .masterKey, .warning, "The key '\(id)' opens some of its rows and not others. \(stock)",
                advice: "The others were changed, or sealed by a gateway with another key of this identifier. "
                    + "'sluice rotate-master-key' names them; they can only be deleted. Make a new storage credential "
                    + "and let the buckets name it before you delete the old one. Make an issuer or a ticket again "
                    + "after you have deleted it.")
        }
        // Their advice is above.
        let clashing = Set(
            clashes.flatMap { clash -> [UUID] in if case .differs(_, let gateways) = clash { gateways } else { [] } })
        judgeMasterKeys(of: gateways.filter { !clashing.contains($0.id) }, masterKeys.currentFingerprint)
        guard flaws.isEmpty, outcome.partial.isEmpty else { return }
        let others = sealed.map(\.keyID).filter { $0 != masterKeys.currentID }
        guard others.isEmpty else {
            report.note(
                .masterKey, .warning,
                "New rows are sealed with '\(masterKeys.currentID)', others with an older key. \(stock)",
                advice: "Run 'sluice rotate-master-key' once every gateway has both keys and seals with this one.")
            return
        }
        report.note(.masterKey, .ok, "The key '\(masterKeys.currentID)' opens the rows that it seals. \(stock)")
    }

    /// Looks for gateways that do not seal with the key that seals here.
    private mutating func judgeMasterKeys(of gateways: [RunningGateway], _ key: String) {
        let others = gateways.filter { $0.masterKeys.first != key }
        func identifiers(where hasKey: Bool) -> String? {
            let found = others.filter { $0.masterKeys.contains(key) == hasKey }.map { $0.id.uuidString.lowercased() }
            return found.isEmpty ? nil : found.joined(separator: ", ")
        }
        if let ids = identifiers(where: false) {
            report.note(
                .masterKey, .warning, "Gateways run without the key '\(key)': \(ids).",
                advice: "Restart them with it, or they cannot open what is sealed from now on.")
        }
        if let ids = identifiers(where: true) {
            report.note(
                .masterKey, .warning, "Gateways have the key '\(key)' and seal with another one: \(ids).",
                advice: "Give all gateways the same keys in the same order, and reload them.")
        }
    }

    private mutating func judge(_ gateways: [RunningGateway]) {
        let allowed = Double(settings?.clockMaxDifference ?? Settings.defaultClockMaxDifference)
        for gateway in gateways where abs(gateway.clockDifference) > allowed {
            let seconds = Int(abs(gateway.clockDifference).rounded())
            report.note(
                .gateways, .failed,
                "The clock of gateway \(gateway.id.uuidString.lowercased()) differs from PostgreSQL's by \(seconds) s.",
                advice: "Set the clock of its machine by NTP. Until then it issues nothing.")
        }
        let others = Set(gateways.map(\.version)).subtracting([ProgramVersion.current]).sorted()
        if !others.isEmpty {
            report.note(
                .gateways, .warning,
                "Gateways of other versions run: \(others.joined(separator: ", ")). This is \(ProgramVersion.current).",
                advice: "Finish the update: replace them, and run 'sluice migrate --finish'.")
        }
        guard report.findings.last?.check != .gateways else { return }
        report.note(.gateways, .ok, gateways.isEmpty ? "No gateway runs." : "Gateways that run: \(gateways.count).")
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
