import FoundationEssentials
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibPQ
import MicroHTTPD

extension Settings {
    /// Reads and checks all settings of `serve`.
    ///
    /// - Parameter passed: The sockets that the process was passed, which take the place of addresses.
    /// - Throws: ``SettingMistakes`` with all mistakes.
    init(_ reader: inout SettingReader, passed: PassedListeners = PassedListeners()) throws {
        let database = Database(reading: &reader)
        let masterKeys = MasterKeyRing(reading: &reader)
        let http = HTTP(reading: &reader)
        let earlierMistakes = reader.mistakes.count
        let listen =
            ListenAddress(reading: &reader, .listen)
            ?? (reader.mistakes.count == earlierMistakes ? Settings.defaultListen : nil)
        let adminListen = ListenAddress(reading: &reader, .adminListen)
        if passed.isEmpty, let listen, let adminListen, adminListen.clashes(with: listen) {
            reader.refuse(
                .adminListen,
                "must have another port than SLUICE_LISTEN, which listens at \(listen.host) port \(listen.port), "
                    + "unless systemd passes the socket of one")
        }
        let tls = HTTPServerConfiguration.TLS(reading: &reader)
        let proxies = TrustedProxies(reading: &reader)
        let adminKey = reader.bootstrapAdminKey()
        let keepDays = reader.integer(.ledgerKeepDays, in: 32...36_500)
        let daysAhead = reader.integer(.ledgerDaysAhead, in: 1...366)
        let refusalsKeepDays = reader.integer(.refusalsKeepDays, in: 1...3650)
        let multipartMaxAge = reader.integer(.multipartMaxAge, in: 60...MultipartUploads.maxLife)
        let clockDifference = reader.integer(.clockMaxDifference, in: 1...ClockDifference.longest)
        let sessionsPerSecond = reader.integer(.sessionsPerSecond, in: 1...1000)
        let requestsPerSecond = reader.integer(.requestsPerSecond, in: 0...1_000_000)
        let ticketsMaxAge = reader.integer(.ticketsMaxAge, in: 60...Ticket.maxLife)
        let origins = reader.pageOrigins()
        let keyOrigins = reader.list(.eventsOSSKeyOrigins).compactMap {
            reader.origin($0, of: .eventsOSSKeyOrigins, example: "https://gosspublic.alicdn.com")
        }
        let publicURL = reader.text(.publicURL).flatMap {
            reader.origin($0, of: .publicURL, example: "https://sluice.example")
        }
        let outbound = OutboundPolicy(reading: &reader)
        guard reader.mistakes.isEmpty, let database, let masterKeys, let outbound else {
            throw SettingMistakes(mistakes: reader.mistakes)
        }
        self.init(database: database, masterKeys: masterKeys, outbound: outbound)
        self.http = http
        self.listen = listen ?? self.listen
        self.adminListen = adminListen
        self.passedListeners = passed
        self.publicURL = publicURL
        self.tls = tls
        self.bootstrapAdminKey = adminKey
        self.trustedProxies = proxies
        self.allowedOrigins = Set(origins)
        if !keyOrigins.isEmpty { self.ossKeyOrigins = keyOrigins }
        self.ledgerKeepDays = keepDays
        self.ledgerDaysAhead = daysAhead ?? self.ledgerDaysAhead
        self.refusalsKeepDays = refusalsKeepDays ?? self.refusalsKeepDays
        self.multipartMaxAge = multipartMaxAge ?? self.multipartMaxAge
        self.clockMaxDifference = clockDifference ?? self.clockMaxDifference
        self.sessionsPerSecond = sessionsPerSecond ?? self.sessionsPerSecond
        self.requestsPerSecond = requestsPerSecond ?? self.requestsPerSecond
        self.ticketsMaxAge = ticketsMaxAge ?? self.ticketsMaxAge
    }
}

extension SettingReader {
    /// Reads the key of the first admin, which must be a bearer token. `nil` if none is set, or if a mistake was noted.
    fileprivate mutating func bootstrapAdminKey() -> Secret<String>? {
        guard let key = secret(.bootstrapAdminKey, orIn: .bootstrapAdminKeyFile) else { return nil }
        if !key.text.reveal().isBearerToken(ofLength: 32...1024) {
            refuse(key.from, "must be 32 to 1,024 letters, digits and -._~+/, with = only at the end")
        }
        return key.text
    }

    /// Reads the origins of pages, in the form that browsers send, or `*`. Any other would never match.
    fileprivate mutating func pageOrigins() -> [String] {
        let origins = list(.corsAllowedOrigins)
        for text in origins where text != "*" {
            let origin = WebOrigin(ofURL: text)?.text
            guard origin != text else { continue }
            refuse(
                .corsAllowedOrigins,
                "'\(text)' is not an origin as browsers send it, such as \(origin ?? "https://app.example")")
        }
        return origins
    }

    /// Reads an origin in any spelling, and returns it as browsers would send it; `nil` if a mistake was noted.
    fileprivate mutating func origin(_ text: String, of name: SettingName, example: String) -> String? {
        guard let origin = WebOrigin(text) else {
            refuse(name, "'\(text)' is not an origin, such as \(example)")
            return nil
        }
        return origin.text
    }
}

extension String {
    /// Tests whether a header field can carry the text as a bearer token (RFC 6750, section 2.1).
    fileprivate func isBearerToken(ofLength length: ClosedRange<Int>) -> Bool {
        length ~= utf8.count && wholeMatch(of: /[A-Za-z0-9._~+\/-]+=*/) != nil
    }
}

extension Settings.Database {
    /// Reads how to reach PostgreSQL. `nil` if a mistake was noted.
    init?(reading reader: inout SettingReader) {
        let ledgerConnections = reader.integer(.databaseLedgerConnections, in: 1...64)
        let poolConnections = reader.integer(.databasePoolConnections, in: 1...64)
        let flaws = reader.mistakes.count
        let password = reader.secret(in: .databasePasswordFile)
        guard let connectionString = reader.text(.databaseURL) else {
            reader.refuse(.databaseURL, "must be set, for example postgresql://sluice@127.0.0.1/sluice")
            return nil
        }
        guard reader.mistakes.count == flaws else { return nil }
        self.init(connectionString: Secret(connectionString), password: password)
        self.ledgerConnections = ledgerConnections ?? self.ledgerConnections
        self.poolConnections = poolConnections ?? self.poolConnections
        do throws(PostgresError) {
            let configuration = try PostgresConfiguration(
                connectionString: connectionString, applicationName: "sluice")
            guard password == nil || !configuration.hasPassword else {
                reader.refuse(
                    .databasePasswordFile, "must not be set together with a password in SLUICE_DATABASE_URL")
                return nil
            }
        } catch {
            reader.refuse(.databaseURL, "\(error)")
            return nil
        }
    }
}

extension MasterKeyRing {
    /// Reads the master keys. `nil` if a mistake was noted.
    convenience init?(reading reader: inout SettingReader) {
        let flaws = reader.mistakes.count
        guard let (key, name) = reader.secret(.masterKey, orIn: .masterKeyFile) else {
            if reader.mistakes.count == flaws {
                reader.refuse(
                    .masterKey, "must be set, or SLUICE_MASTER_KEY_FILE; make one with: openssl rand -base64 32")
            }
            return nil
        }
        do throws(MasterKeyError) {
            try self.init(parsing: key)
        } catch {
            reader.refuse(name, "\(error)")
            return nil
        }
    }
}

extension Settings.HTTP {
    /// Reads the limits of the listeners.
    init(reading reader: inout SettingReader) {
        threads = reader.integer(.httpThreads, in: 1...256) ?? threads
        maxConnections = reader.integer(.httpMaxConnections, in: 1...1_000_000) ?? maxConnections
        maxConnectionsPerAddress =
            reader.integer(.httpMaxConnectionsPerAddress, in: 1...1_000_000) ?? maxConnectionsPerAddress
        maxRequestsInFlight = reader.integer(.httpMaxRequestsInFlight, in: 1...1_000_000) ?? maxRequestsInFlight
        maxHead = reader.integer(.httpMaxHead, in: 4...64) ?? maxHead
        // With less than 32 MiB, the longest body that a route accepts would never fit.
        maxBodyMemory = reader.integer(.httpMaxBodyMemory, in: 32...1_048_576) ?? maxBodyMemory
        idleTimeout = reader.integer(.httpIdleTimeout, in: 1...3600) ?? idleTimeout
        requestTimeout = reader.integer(.httpRequestTimeout, in: 1...3600) ?? requestTimeout
        answerDeadline = reader.integer(.httpAnswerDeadline, in: 1...600) ?? answerDeadline
        drainDelay = reader.integer(.httpDrainDelay, in: 0...600) ?? drainDelay
        drainDeadline = reader.integer(.httpDrainDeadline, in: 0...600) ?? drainDeadline
    }
}

extension ListenAddress {
    /// Reads an address. `nil` if none is set, or if a mistake was noted.
    init?(reading reader: inout SettingReader, _ name: SettingName) {
        guard let text = reader.text(name) else { return nil }
        guard let address = ListenAddress(text) else {
            reader.refuse(name, "must be an address and a port, such as 127.0.0.1:8080 or [::1]:8080")
            return nil
        }
        self = address
    }
}

extension HTTPServerConfiguration.TLS {
    /// Reads the files of certificate and key. `nil` if none is set, or if a mistake was noted.
    init?(reading reader: inout SettingReader) {
        let certificate = reader.text(.tlsCertificateFile)
        let key = reader.text(.tlsKeyFile)
        switch (certificate, key) {
        case (let certificate?, let key?): self.init(certificateFile: certificate, keyFile: key)
        case (nil, nil): return nil
        case (nil, _):
            reader.refuse(.tlsCertificateFile, "must be set together with SLUICE_TLS_KEY_FILE")
            return nil
        case (_, nil):
            reader.refuse(.tlsKeyFile, "must be set together with SLUICE_TLS_CERTIFICATE_FILE")
            return nil
        }
    }
}

extension TrustedProxies {
    /// Reads the networks of the trusted proxies.
    init(reading reader: inout SettingReader) {
        var networks: [IPNetwork] = []
        for text in reader.list(.trustedProxies) {
            if let network = IPNetwork(text) {
                networks.append(network)
            } else {
                reader.refuse(.trustedProxies, "'\(text)' is not a network in CIDR notation")
            }
        }
        let field = reader.choice(
            .trustedProxyHeader, ["x-forwarded-for": Field.xForwardedFor, "forwarded": .forwarded])
        self.init(networks: networks, field: field ?? .xForwardedFor)
    }
}

extension OutboundPolicy {
    /// Reads which servers may be called in addition to public ones over https. `nil` if a mistake was noted.
    init?(reading reader: inout SettingReader) {
        var origins: [String] = []
        var networks: [IPNetwork] = []
        for text in reader.list(.outboundAllow) {
            if let network = IPNetwork(text) { networks.append(network) } else { origins.append(text) }
        }
        do throws(GatewayError) {
            try self.init(origins: origins, networks: networks)
        } catch {
            reader.refuse(.outboundAllow, "must be networks in CIDR notation, or origins such as http://127.0.0.1:9000")
            return nil
        }
    }
}
