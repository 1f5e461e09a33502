import Foundation
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibPQ
import Logging
import MicroHTTPD

extension Settings {
    /// Reads and checks all settings of `serve`.
    ///
    /// - Throws: ``SettingMistakes`` with every mistake.
    init(_ reader: inout SettingReader) throws {
        let database = Database(reading: &reader)
        let masterKeys = MasterKeyRing(reading: &reader)
        let http = HTTP(reading: &reader)
        let listen = ListenAddress(reading: &reader, .listen)
        let adminListen = ListenAddress(reading: &reader, .adminListen)
        let tls = HTTPServerConfiguration.TLS(reading: &reader)
        let proxies = TrustedProxies(reading: &reader)
        let adminKey = reader.text(.bootstrapAdminKey)
        if let adminKey, !(32...1024 ~= adminKey.utf8.count && adminKey.wholeMatch(of: /[A-Za-z0-9._~+\/-]+=*/) != nil)
        {
            reader.refuse(
                .bootstrapAdminKey,
                "must be 32 to 1,024 characters that a bearer token can have: letters, digits and -._~+/, then =")
        }
        let keepDays = reader.integer(.ledgerKeepDays, in: 32...36_500)
        let daysAhead = reader.integer(.ledgerDaysAhead, in: 1...366)
        let multipartMaxAge = reader.integer(.multipartMaxAge, in: 60...2_592_000)
        let clockDifference = reader.integer(.clockMaxDifference, in: 1...900)
        let sessionsPerSecond = reader.integer(.sessionsPerSecond, in: 1...1000)
        let origins = reader.list(.corsAllowedOrigins)
        // Browsers send exactly this form, so that any other would never be equal.
        for origin in origins where origin != "*" && origin.wholeMatch(of: /https?:\/\/[a-z0-9.\[\]:-]+/) == nil {
            reader.refuse(.corsAllowedOrigins, "'\(origin)' is no origin such as https://app.example, in lower case")
        }
        let keyOrigins = reader.list(.eventsOSSKeyOrigins)
        for origin in keyOrigins where origin.wholeMatch(of: /https?:\/\/[a-z0-9.\[\]:-]+/) == nil {
            reader.refuse(.eventsOSSKeyOrigins, "'\(origin)' is no origin such as https://gosspublic.alicdn.com")
        }
        let outbound = OutboundPolicy(reading: &reader)
        guard reader.mistakes.isEmpty, let database, let masterKeys, let outbound else {
            throw SettingMistakes(mistakes: reader.mistakes)
        }
        self.init(database: database, masterKeys: masterKeys, outbound: outbound)
        self.http = http
        self.listen = listen ?? self.listen
        self.adminListen = adminListen
        self.tls = tls
        self.bootstrapAdminKey = adminKey.map { Secret($0) }
        self.trustedProxies = proxies
        self.allowedOrigins = Set(origins)
        if !keyOrigins.isEmpty { self.ossKeyOrigins = keyOrigins }
        self.ledgerKeepDays = keepDays
        self.ledgerDaysAhead = daysAhead ?? self.ledgerDaysAhead
        self.multipartMaxAge = multipartMaxAge ?? self.multipartMaxAge
        self.clockMaxDifference = clockDifference ?? self.clockMaxDifference
        self.sessionsPerSecond = sessionsPerSecond ?? self.sessionsPerSecond
    }
}

extension Settings.Database {
    /// Reads how to reach PostgreSQL; `nil` with a mistake noted.
    init?(reading reader: inout SettingReader) {
        let ledgerConnections = reader.integer(.databaseLedgerConnections, in: 1...64)
        let poolConnections = reader.integer(.databasePoolConnections, in: 1...64)
        guard let connectionString = reader.text(.databaseURL) else {
            reader.refuse(.databaseURL, "must be set, for example postgresql://sluice@127.0.0.1/sluice")
            return nil
        }
        self.init(connectionString: Secret(connectionString))
        self.ledgerConnections = ledgerConnections ?? self.ledgerConnections
        self.poolConnections = poolConnections ?? self.poolConnections
        do throws(PostgresError) {
            _ = try PostgresConfiguration(connectionString: connectionString, applicationName: "sluice")
        } catch {
            reader.refuse(.databaseURL, "\(error)")
            return nil
        }
    }
}

extension MasterKeyRing {
    /// Reads the master keys; `nil` with a mistake noted.
    init?(reading reader: inout SettingReader) {
        let key = reader.text(.masterKey)
        let file = reader.text(.masterKeyFile)
        let name = file == nil ? SettingName.masterKey : .masterKeyFile
        do {
            switch (key, file) {
            case (let key?, nil):
                self = try MasterKeyRing(parsing: Secret(key))
            case (nil, let file?):
                self = try MasterKeyRing(parsing: Secret(String(contentsOf: URL(filePath: file), encoding: .utf8)))
            case (nil, nil):
                reader.refuse(
                    .masterKey, "must be set, or SLUICE_MASTER_KEY_FILE; make one with: openssl rand -base64 32")
                return nil
            case (.some, .some):
                reader.refuse(.masterKey, "must not be set together with SLUICE_MASTER_KEY_FILE")
                return nil
            }
        } catch let flaw as MasterKeyError {
            reader.refuse(name, "\(flaw)")
            return nil
        } catch {
            reader.refuse(name, "cannot be read")
            return nil
        }
    }
}

extension Settings.HTTP {
    /// Reads limits of the listeners.
    init(reading reader: inout SettingReader) {
        threads = reader.integer(.httpThreads, in: 1...256) ?? threads
        maxConnections = reader.integer(.httpMaxConnections, in: 1...1_000_000) ?? maxConnections
        maxConnectionsPerAddress =
            reader.integer(.httpMaxConnectionsPerAddress, in: 1...1_000_000) ?? maxConnectionsPerAddress
        maxRequestsInFlight = reader.integer(.httpMaxRequestsInFlight, in: 1...1_000_000) ?? maxRequestsInFlight
        idleTimeout = reader.integer(.httpIdleTimeout, in: 1...3600) ?? idleTimeout
        requestTimeout = reader.integer(.httpRequestTimeout, in: 1...3600) ?? requestTimeout
        answerDeadline = reader.integer(.httpAnswerDeadline, in: 1...600) ?? answerDeadline
        drainDeadline = reader.integer(.httpDrainDeadline, in: 0...600) ?? drainDeadline
    }
}

extension ListenAddress {
    /// Reads an address; `nil` where none is set, or with a mistake noted.
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
    /// Reads certificate and key; `nil` where none is set, or with a mistake noted.
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
    /// Reads which proxies are trusted.
    init(reading reader: inout SettingReader) {
        var networks: [IPNetwork] = []
        for text in reader.list(.trustedProxies) {
            if let network = IPNetwork(text) {
                networks.append(network)
            } else {
                reader.refuse(.trustedProxies, "'\(text)' is no network in CIDR notation")
            }
        }
        let field = reader.choice(
            .trustedProxyHeader, ["x-forwarded-for": Field.xForwardedFor, "forwarded": .forwarded])
        self.init(networks: networks, field: field ?? .xForwardedFor)
    }
}

extension OutboundPolicy {
    /// Reads what may be called besides public https servers; `nil` with a mistake noted.
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
