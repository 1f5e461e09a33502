import Terminal

/// A setting of the gateway, by its key in the configuration file. This is the only list of settings.
///
/// The environment variable is `SLUICE_` followed by the key in upper case, with `_` for `.` and `-`.
enum SettingName: String, CaseIterable {
    case databaseURL = "database.url"
    case databasePasswordFile = "database.password-file"
    case databaseLedgerConnections = "database.ledger-connections"
    case databasePoolConnections = "database.pool-connections"
    case masterKey = "master-key"
    case masterKeyFile = "master-key-file"
    case bootstrapAdminKey = "bootstrap-admin-key"
    case bootstrapAdminKeyFile = "bootstrap-admin-key-file"
    case listen = "listen"
    case adminListen = "admin-listen"
    case publicURL = "public-url"
    case tlsCertificateFile = "tls.certificate-file"
    case tlsKeyFile = "tls.key-file"
    case corsAllowedOrigins = "cors.allowed-origins"
    case trustedProxies = "trusted-proxies"
    case trustedProxyHeader = "trusted-proxy-header"
    case outboundAllow = "outbound.allow"
    case eventsOSSKeyOrigins = "events.oss-key-origins"
    case httpThreads = "http.threads"
    case httpMaxConnections = "http.max-connections"
    case httpMaxConnectionsPerAddress = "http.max-connections-per-address"
    case httpMaxRequestsInFlight = "http.max-requests-in-flight"
    case httpMaxHead = "http.max-head"
    case httpMaxBodyMemory = "http.max-body-memory"
    case httpIdleTimeout = "http.idle-timeout"
    case httpRequestTimeout = "http.request-timeout"
    case httpAnswerDeadline = "http.answer-deadline"
    case httpDrainDelay = "http.drain-delay"
    case httpDrainDeadline = "http.drain-deadline"
    case ledgerKeepDays = "ledger.keep-days"
    case ledgerDaysAhead = "ledger.days-ahead"
    case refusalsKeepDays = "refusals.keep-days"
    case multipartMaxAge = "multipart.max-age"
    case clockMaxDifference = "clock.max-difference"
    case sessionsPerSecond = "sessions.per-second"
    case requestsPerSecond = "requests.per-second"
    case ticketsMaxAge = "tickets.max-age"
    case logLevel = "log.level"
    case logFormat = "log.format"

    /// Name of the environment variable.
    var variable: String {
        "SLUICE_" + rawValue.uppercased().replacing("-", with: "_").replacing(".", with: "_")
    }

    /// The setting that names a file with the secret; `nil` if this setting is not secret and may be given on a command
    /// line.
    ///
    /// The database's URL counts as a secret even without a password, so that a refusal does not depend on the value.
    var secretFile: SettingName? {
        switch self {
        case .databaseURL: .databasePasswordFile
        case .masterKey: .masterKeyFile
        case .bootstrapAdminKey: .bootstrapAdminKeyFile
        default: nil
        }
    }

    /// One line of help: meaning, unit and default.
    var meaning: String {
        switch self {
        case .databaseURL: "PostgreSQL, as a URI or keywords; the primary among several hosts. Required."
        case .databasePasswordFile:
            "File with the password for PostgreSQL, if the URL contains none. Default none."
        case .databaseLedgerConnections: "Connections that record issuances. Default 2."
        case .databasePoolConnections: "Connections that read policy. Default 4."
        case .masterKey:
            "Key that seals stored secrets: 32 bytes in base64, or lines of id:base64; the first one seals."
        case .masterKeyFile: "File with the master key, instead. One of the two is required."
        case .bootstrapAdminKey: "Bearer token with the role admin, to create the first rows. Default none."
        case .bootstrapAdminKeyFile: "File with that token, instead."
        case .listen: "Address and port of the API. Default 127.0.0.1:8080."
        case .adminListen:
            """
            Address and port of /admin, /console, /docs, /openapi.yaml, /openapi.json, /healthz, /readyz and /metrics. \
            Default: the API's.
            """
        case .publicURL:
            "Origin at which clients reach the API, for links to itself: https://sluice.example. Default none."
        case .tlsCertificateFile: "Certificate chain in PEM; serves https. Default none."
        case .tlsKeyFile: "Private key of the certificate in PEM."
        case .corsAllowedOrigins:
            "Origins of pages that may call /v1 and /companion, comma-separated, or *. Default none."
        case .trustedProxies:
            "Networks of proxies that report the client's address, in CIDR notation, comma-separated. Default none."
        case .trustedProxyHeader:
            "Header in which they report it: x-forwarded-for or forwarded. Default x-forwarded-for."
        case .outboundAllow:
            "Origins to call at any address, also by http; networks to call by https although not public. Default none."
        case .eventsOSSKeyOrigins:
            "Origins of Alibaba OSS's keys for callbacks, comma-separated. Default https://gosspublic.alicdn.com."
        case .httpThreads: "Threads that serve sockets, per listener. Default 2."
        case .httpMaxConnections: "Connections at once, per listener. Default 10000."
        case .httpMaxConnectionsPerAddress: "Connections at once from one address, per listener. Default 1024."
        case .httpMaxRequestsInFlight: "Requests being answered at once, per listener. Default 4096."
        case .httpMaxHead: "KiB for the head of a request; every open connection holds as much. Default 8."
        case .httpMaxBodyMemory:
            "MiB of memory for the bodies of all requests together; beyond it, requests get 503. Default 256."
        case .httpIdleTimeout: "Seconds after which an idle connection is closed. Default 30."
        case .httpRequestTimeout:
            "Seconds in which a request must arrive completely; otherwise it gets 408. Default 30."
        case .httpAnswerDeadline: "Seconds after which a request is answered with 503. Default 15."
        case .httpDrainDelay:
            "Seconds for which a gateway that stops says so in /readyz, before it closes its listeners. Default 0."
        case .httpDrainDeadline: "Seconds that running requests have to finish when the gateway stops. Default 20."
        case .ledgerKeepDays: "Days that issuances are kept, at least 32. Default: for ever."
        case .ledgerDaysAhead: "Days for which partitions of the ledger are created in advance. Default 7."
        case .refusalsKeepDays: "Days that single refusals are kept, at most a million of them. Default 30."
        case .multipartMaxAge:
            "Seconds after which an incomplete multipart upload is aborted. Default 86400."
        case .clockMaxDifference:
            "Seconds that the clock may differ from PostgreSQL's; else nothing is issued, /readyz says 503. Default 5."
        case .sessionsPerSecond:
            "Sessions that this gateway opens per second at most; providers allow 100 per account. Default 50."
        case .requestsPerSecond:
            "Requests of one principal per second, with bursts of twice as many; 0 for no limit. Default 500."
        case .ticketsMaxAge: "Longest life of a ticket in seconds, 60 to 604800. Default 604800."
        case .logLevel: "trace, debug, info, notice, warning, error or critical. Default info."
        case .logFormat: "text or json; logs go to standard error. Default text."
        }
    }

    /// The settings as the help text lists them, two lines each: variable and key, and below them the meaning.
    static var table: String {
        // The width of help is that of a terminal that nobody has widened.
        allCases.map { name in
            (["\(name.variable)  \(name.rawValue)"] + name.meaning.wrapped(to: 75).map { "    " + $0 })
                .joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
