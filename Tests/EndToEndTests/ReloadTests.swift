import Foundation
import Glibc
import HTTPTesting
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

/// SIGHUP: certificates and master keys are read again, sessions are forgotten, and nothing else.
@Suite(.timeLimit(.minutes(3))) struct ReloadTests {
    /// Certificate and key of a gateway.
    struct Files {
        let certificate: URL
        let key: URL

        init(in folder: URL) {
            certificate = folder.appending(path: "certificate.pem")
            key = folder.appending(path: "key.pem")
        }

        /// Makes a certificate for 127.0.0.1. Returns a copy, for clients that trust it.
        func renew(_ name: String, days: Int = 2) async throws -> String {
            try await run(
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                "\(days)", "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate.path,
                "-keyout", key.path)
            let copy = certificate.deletingLastPathComponent().appending(path: name)
            try FileManager.default.copyItem(at: certificate, to: copy)
            return copy.path
        }

        private func run(_ command: String...) async throws {
            let process = try RunningProcess(["/usr/bin/env"] + command, environment: [:])
            try #require(await process.exitStatus() == 0, "\(process.errors)")
        }
    }

    @Test func `a new certificate is shown to new connections, and old ones go on`() async throws {
        try await Supervisor.withFolder { folder in
            let ear = try await Supervisor.hearing(at: "@\(folder.lastPathComponent)")
            let files = Files(in: folder)
            let first = try await files.renew("first")
            try await Deployment.with(gateways: 0) { site in
                let gateway = try await site.startGateway([
                    "SLUICE_TLS_CERTIFICATE_FILE": files.certificate.path, "SLUICE_TLS_KEY_FILE": files.key.path,
                    "NOTIFY_SOCKET": "@\(folder.lastPathComponent)",
                ])
                #expect(try await isServed(at: gateway, trusting: first))
                #expect(try await daysLeft(at: gateway, trusting: first) == 2)
                // A connection that lasts until the file appears.
                let mark = folder.appending(path: "mark")
                let lasting = try RunningProcess(
                    ["/bin/bash", "-c", Self.client, "client", "127.0.0.1:\(gateway.port)", first, mark.path],
                    environment: [:], folder: folder)
                try await waitUntil("the old connection is served") { lasting.output.contains("\"ok\"") }

                let second = try await files.renew("second", days: 90)
                #expect(try await isServed(at: gateway, trusting: first))
                gateway.process.signal(SIGHUP)
                try await waitUntil("the files are read") { gateway.log.contains("master.keys=k1") }
                #expect(try await isServed(at: gateway, trusting: second))
                #expect(try await !isServed(at: gateway, trusting: first))
                #expect(try await daysLeft(at: gateway, trusting: second) == 90)
                try await waitUntil("systemd knows") { ear.count(of: "READY=1") == 2 }
                #expect(ear.count(of: "RELOADING=1") == 1 && ear.output.contains("\nMONOTONIC_USEC="))

                // What is wrong changes nothing.
                for (file, text) in [(files.key, "no key"), (files.certificate, "no certificate")] {
                    let failures = gateway.log.failures
                    try text.write(to: file, atomically: true, encoding: .utf8)
                    gateway.process.signal(SIGHUP)
                    try await waitUntil("the mistake is named") { gateway.log.failures == failures + 1 }
                    #expect(try await isServed(at: gateway, trusting: second))
                }
                try FileManager.default.removeItem(at: files.key)
                gateway.process.signal(SIGHUP)
                try await waitUntil("the file is missed") { gateway.log.contains("Cannot read \(files.key.path)") }
                #expect(gateway.log.failures == 3)
                try await waitUntil("systemd knows") { ear.count(of: "READY=1") == 5 }

                try "go".write(to: mark, atomically: true, encoding: .utf8)
                _ = await lasting.exitStatus()
                #expect(lasting.output.split(separator: "\"ok\"").count == 3, "\(lasting.output) \(lasting.errors)")
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    @Test func `a certificate that clients would refuse for its dates replaces none that they accept`() async throws {
        try await Supervisor.withFolder { folder in
            let files = Files(in: folder)
            let first = try await files.renew("first")
            try await Deployment.with(gateways: 0) { site in
                let settings = [
                    "SLUICE_TLS_CERTIFICATE_FILE": files.certificate.path, "SLUICE_TLS_KEY_FILE": files.key.path,
                ]
                let gateway = try await site.startGateway(settings)
                #expect(!gateway.log.contains("clients refuse the certificate"))
                let periods = [
                    ("20980203040506Z", "20990203040506Z", "is not valid before 2098-02-03T04:05:06Z"),
                    ("20200203040506Z", "20210203040506Z", "expired at 2021-02-03T04:05:06Z"),
                ]
                for (number, (start, end, flaw)) in periods.enumerated() {
                    try OpenSSL.makeCertificate(
                        named: "period", from: start, until: end, certificate: files.certificate, key: files.key)
                    gateway.process.signal(SIGHUP)
                    try await waitUntil("the reload is refused") { gateway.log.failures == number + 1 }
                    #expect(gateway.log.contains(flaw))
                    #expect(try await isServed(at: gateway, trusting: first))
                }
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }

                // A start does not fail for it, but warns. What is no worse is taken, and what is better.
                let second = try await site.startGateway(settings)
                #expect(second.log.contains("clients refuse the certificate"))
                second.process.signal(SIGHUP)
                try await waitUntil("the files are read") { second.log.contains("master.keys=k1") }
                #expect(second.log.failures == 0)
                let third = try await files.renew("third")
                second.process.signal(SIGHUP)
                try await waitUntil("the certificate is shown") { try await isServed(at: second, trusting: third) }
                await site.end(second) { #expect(await second.terminate() == 0) }
            }
        }
    }

    /// Asks once, waits for a file, and asks again on the same connection.
    private static let client = #"""
        ask() { printf 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n' "$1"; }
        { ask keep-alive; until [ -e "$3" ]; do sleep 0.05; done; ask close; } |
            openssl s_client -quiet -verify_return_error -CAfile "$2" -connect "$1"
        """#

    /// The life of the certificate in days, as `/metrics` has it.
    private func daysLeft(at gateway: GatewayProcess, trusting certificate: String) async throws -> Int {
        let process = try RunningProcess(
            ["/usr/bin/curl", "-sS", "--cacert", certificate, "https://127.0.0.1:\(gateway.port)/metrics"],
            environment: [:])
        #expect(await process.exitStatus() == 0)
        let series = #/sluice_tls_certificate_expiry_timestamp_seconds\{listener="api"\} (\d+)/#
        let expiry = try #require(process.output.firstMatch(of: series).flatMap { Double($0.1) })
        return Int(((expiry - Date.now.timeIntervalSince1970) / 86_400).rounded())
    }

    private func isServed(at gateway: GatewayProcess, trusting certificate: String) async throws -> Bool {
        let process = try RunningProcess(
            ["/usr/bin/curl", "-sS", "--cacert", certificate, "https://127.0.0.1:\(gateway.port)/healthz"],
            environment: [:])
        return await process.exitStatus() == 0 && process.output.contains("ok")
    }

    @Test(arguments: [false, true])
    func `a gateway that drains still reloads, and turns nobody away`(socketIsPassed: Bool) async throws {
        try await Supervisor.withFolder { folder in
            let ear = try await Supervisor.hearing(at: "@\(folder.lastPathComponent)")
            let files = Files(in: folder)
            let trusted = folder.appending(path: "trusted")
            func trust(_ certificates: String...) throws {
                let texts = try certificates.map { try String(contentsOfFile: $0, encoding: .utf8) }
                try texts.joined().write(to: trusted, atomically: true, encoding: .utf8)
            }
            let first = try await files.renew("first")
            try trust(first)
            // With a gateway for the rows.
            try await Deployment.with { site in
                try await site.makeBucket("drain")
                let user = try await site.makeUser("alice")
                try await site.grant(["GetObject"], to: user.principal, in: "drain")
                let (note, keys) = (folder.appending(path: "gateway"), folder.appending(path: "master.key"))
                let old = try #require(site.environment["SLUICE_MASTER_KEY"])
                try old.write(to: keys, atomically: true, encoding: .utf8)
                let gateway = try await site.startGateway(
                    [
                        "SLUICE_TLS_CERTIFICATE_FILE": files.certificate.path, "SLUICE_TLS_KEY_FILE": files.key.path,
                        "SLUICE_MASTER_KEY": "", "SLUICE_MASTER_KEY_FILE": keys.path,
                        "SLUICE_HTTP_DRAIN_DELAY": "12", "NOTIFY_SOCKET": "@\(folder.lastPathComponent)",
                    ],
                    by: socketIsPassed ? Supervisor.holding(socketNamed: "api", file: note) : [])
                func processID() throws -> pid_t {
                    guard socketIsPassed else { return gateway.process.processID }
                    return try #require(pid_t(try String(contentsOf: note, encoding: .utf8)))
                }
                let stop = folder.appending(path: "stop")
                let clients = try (0..<2).map { _ in
                    try RunningProcess(
                        ["/bin/bash", "-c", Self.asker, "asker", stop.path, trusted.path, "\(gateway.port)"],
                        environment: ["TOKEN": user.client.token])
                }
                func linksFlow() async throws {
                    let before = clients.map { $0.count(of: "201 0") }
                    try await waitUntil("links flow", seconds: 20) {
                        zip(clients, before).allSatisfy { $0.count(of: "201 0") >= $1 + 3 }
                    }
                }
                try await linksFlow()
                let second = try await files.renew("second")
                try trust(first, second)
                let other = site.freshMasterKey()
                try "k2:\(other)\n\(old)".write(to: keys, atomically: true, encoding: .utf8)

                let draining = try processID()
                kill(draining, SIGTERM)
                try await waitUntil("it says that it drains") {
                    try await readiness(at: gateway, trusting: trusted.path).contains("draining")
                }
                kill(draining, SIGHUP)
                try await waitUntil("the files are read") { gateway.log.contains("master.keys=k2,k1") }
                #expect(try await isServed(at: gateway, trusting: second))
                #expect(try await readiness(at: gateway, trusting: second).contains("draining"))
                try await linksFlow()
                if socketIsPassed {
                    try await waitUntil("the next gateway runs") { try processID() != draining }
                    try await linksFlow()
                }
                try "stop".write(to: stop, atomically: true, encoding: .utf8)
                for client in clients {
                    #expect(await client.exitStatus() == 0)
                    let answers = Set(client.output.split(separator: "\n"))
                    #expect(answers == ["201 0"], "\(answers) \(client.errors)")
                }
                if !socketIsPassed {
                    // Nothing is read any more, and no signal ends the gateway before its time.
                    while gateway.process.isRunning {
                        gateway.process.signal(SIGHUP)
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    await site.end(gateway) { #expect(await gateway.process.exitStatus() == 0) }
                    // systemd is told of the end, and of nothing else afterwards.
                    let told = ear.output.split(separator: "STOPPING=1")
                    #expect(told.count == 2 && !told[1].contains("Serving") && !told[1].contains("READY=1"))
                } else {
                    await site.end(gateway) { #expect(await gateway.terminate() == 0) }
                }
                let links = clients.reduce(0) { $0 + $1.count(of: "201 0") }
                #expect(try await site.number("SELECT count(*) FROM issuances") == links)
            }
        }
    }

    /// Asks for links, each over a connection of its own, until a file appears. Prints the status of each answer, and
    /// 0 if curl has all of it.
    private static let asker = #"""
        until [ -e "$1" ]; do
            curl -sS --cacert "$2" --max-time 30 -o /dev/null -w '%{http_code} %{exitcode}\n' \
                -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
                -d '{"action": "GetObject", "bucket": "drain", "key": "k"}' "https://127.0.0.1:$3/v1/presigned-urls"
        done
        true
        """#

    private func readiness(at gateway: GatewayProcess, trusting certificates: String) async throws -> String {
        let process = try RunningProcess(
            ["/usr/bin/curl", "-sS", "--cacert", certificates, "https://127.0.0.1:\(gateway.port)/readyz"],
            environment: [:])
        _ = await process.exitStatus()
        return process.output
    }

    @Test func `a new master key seals after a reload, unless the keys do not open what is stored`() async throws {
        try await Supervisor.withFolder { folder in
            try await Deployment.with(gateways: 0) { site in
                let file = folder.appending(path: "master.key")
                let old = try #require(site.environment["SLUICE_MASTER_KEY"])
                let other = site.freshMasterKey()
                func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
                try write(old)
                let gateway = try await site.startGateway([
                    "SLUICE_MASTER_KEY": "", "SLUICE_MASTER_KEY_FILE": file.path,
                ])
                try await site.makeBucket("before")
                #expect(try await sealed(by: "k1", at: site) == 1)

                // Another gateway has the new key already, and seals what this one cannot open.
                let keys = "k2:\(other)\n\(old)"
                let ahead = try await site.startGateway(["SLUICE_MASTER_KEY": keys])
                let credential = try await site.admin.at(ahead.port).call(
                    "POST", "/admin/v1/storage-credentials",
                    ["name": "ahead", "accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "made-up-secret"])
                #expect(try await sealed(by: "k2", at: site) == 1)
                let before = try await site.admin.call("GET", "/admin/v1/buckets/before")
                let user = try await site.makeUser("alice")
                try await site.grant(["GetObject"], to: user.principal, in: "before")
                // Without a key to open them, an issuer's secret and a ticket's key are not taken for unknown.
                let secret = "made-up-secret-of-an-issuer-that-signs-by-itself"
                let issuer = try await site.admin.at(ahead.port).call(
                    "POST", "/admin/v1/issuers",
                    [
                        "issuer": "https://id.example", "audiences": ["sluice"], "algorithms": ["HS256"],
                        "keys": ["secret": .string(secret)], "principalPrefix": "id/", "groupPrefix": "id/",
                    ])
                #expect(issuer.status == 201, "\(issuer.text)")
                try await site.grant(["GetObject"], to: "user:id/alice", in: "before")
                let ticket = try await user.client.at(ahead.port).call(
                    "POST", "/v1/tickets",
                    ["bucket": "before", "prefix": "", "actions": ["GetObject"], "encryptsResponses": true])
                let token = try await token(of: "https://id.example", secret: secret)
                let holder = try #require(ticket.json["ticket"].text, "\(ticket.text)")
                for text in [secret, token, holder] { site.keepSecret(text) }
                func status(at port: UInt16) async throws -> Int {
                    try await site.client(token: token).at(port).call(
                        "POST", "/v1/presigned-urls", .download("k", from: "before")
                    ).status
                }
                // The bucket opens no sessions, which whoever holds the ticket is told of.
                func code(at port: UInt16) async throws -> String? {
                    try await site.client().at(port).call("GET", "/distribute-token.json?ticket=\(holder)").json["Code"]
                        .text
                }
                let refusal = try await code(at: ahead.port)
                #expect(refusal != "ServiceUnavailable" && refusal != "Unauthenticated", "\(refusal ?? "none")")
                #expect(try await status(at: ahead.port) == 201)
                #expect(try await status(at: gateway.port) == 503)
                #expect(try await code(at: gateway.port) == "ServiceUnavailable")
                for row in ["issuer 'https://id.example'", "ticket '"] {
                    try await waitUntil("the log has the cause") {
                        gateway.log.contains("no master key here opens the secret of the \(row)")
                    }
                }

                let changed = try await site.admin.at(ahead.port).call(
                    "PATCH", "/admin/v1/buckets/before",
                    ["credentialID": credential.json["id"], "secretAccessKey": "made-up-secret"],
                    headers: [(name: "If-Match", value: try #require(before["ETag"]))])
                #expect(changed.status == 200, "\(changed.text)")
                #expect(try await user.ask(.download("k", from: "before")).status != 201)

                try write(keys)
                gateway.process.signal(SIGHUP)
                try await waitUntil("the keys are read") { gateway.log.contains("master.keys=k2,k1") }
                #expect(try await user.ask(.download("k", from: "before")).status == 201)
                #expect(try await status(at: gateway.port) == 201)
                #expect(try await code(at: gateway.port) == refusal)
                try await site.makeBucket("after")
                #expect(try await sealed(by: "k1", at: site) == 1)
                #expect(try await sealed(by: "k2", at: site) == 2)
                try await waitUntil("the other gateways know") {
                    let gateways = try await site.admin.call("GET", "/admin/v1/gateways").json["items"].items
                    return gateways.count == 2 && gateways.allSatisfy { $0["masterKeyIDs"] == ["k2", "k1"] }
                }

                for (text, cause) in [
                    ("k2:\(other)", "the master key 'k1' is not among those given"), ("k2:short", "line 1"),
                ] {
                    let failures = gateway.log.failures
                    try write(text)
                    gateway.process.signal(SIGHUP)
                    try await waitUntil("the mistake is named") { gateway.log.failures == failures + 1 }
                    #expect(gateway.log.contains(cause))
                }
                #expect(try await user.ask(.download("k", from: "before")).status == 201)
                try await site.makeBucket("still")
                #expect(try await sealed(by: "k2", at: site) == 3)
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    @Test func `what a rotation sealed for a gateway opens after a reload, though its own keys are the same`()
        async throws
    {
        try await Supervisor.withFolder { folder in
            try await Deployment.with(gateways: 0) { site in
                let file = folder.appending(path: "master.key")
                let old = try #require(site.environment["SLUICE_MASTER_KEY"])
                let other = site.freshMasterKey()
                try "\(old)\nk2:\(other)".write(to: file, atomically: true, encoding: .utf8)
                let gateway = try await site.startGateway([
                    "SLUICE_MASTER_KEY": "", "SLUICE_MASTER_KEY_FILE": file.path,
                ])
                // Nothing is sealed yet that it cannot open.
                let newer = try await site.startGateway(["SLUICE_MASTER_KEY": "k2:\(other)"])
                try await site.makeBucket("turned")
                #expect(try await sealed(by: "k1", at: site) == 1)
                let user = try await site.makeUser("alice")
                try await site.grant(["GetObject"], to: user.principal, in: "turned")
                func status(at port: UInt16) async throws -> Int {
                    try await user.client.at(port).ask(.download("k", from: "turned")).status
                }
                #expect(try await status(at: gateway.port) == 201)
                #expect(try await status(at: newer.port) != 201)

                let keys = "k2:\(other)\n\(old)"
                try keys.write(to: file, atomically: true, encoding: .utf8)
                gateway.process.signal(SIGHUP)
                try await waitUntil("the keys are read") { gateway.log.contains("master.keys=k2,k1") }
                _ = try await Program.run(
                    ["rotate-master-key"], environment: site.environment.merging(["SLUICE_MASTER_KEY": keys]) { $1 })
                #expect(try await sealed(by: "k2", at: site) == 1)
                newer.process.signal(SIGHUP)
                try await waitUntil("the gateway has reloaded") { newer.log.contains("master.keys=k2") }
                #expect(try await status(at: newer.port) == 201)
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    @Test func `a new master key is refused while another gateway has another one of that name`() async throws {
        try await Supervisor.withFolder { folder in
            try await Deployment.with(gateways: 0) { site in
                let file = folder.appending(path: "master.key")
                let old = try #require(site.environment["SLUICE_MASTER_KEY"])
                func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
                func isKnown(_ keys: JSON) async throws -> Bool {
                    try await site.admin.call("GET", "/admin/v1/gateways").json["items"].items
                        .contains { $0["masterKeyIDs"] == keys }
                }
                try write(old)
                let gateway = try await site.startGateway([
                    "SLUICE_MASTER_KEY": "", "SLUICE_MASTER_KEY_FILE": file.path,
                ])
                _ = try await site.startGateway(["SLUICE_MASTER_KEY": "\(old)\nk2:\(site.freshMasterKey())"])
                try await waitUntil("the other gateway is known") { try await isKnown(["k1", "k2"]) }
                try write("\(old)\nk2:\(site.freshMasterKey())")
                gateway.process.signal(SIGHUP)
                try await waitUntil("the clash is named") { gateway.log.failures == 1 }
                #expect(gateway.log.contains("running gateways have another master key 'k2': "))
                #expect(!gateway.log.contains("master.keys=k1,k2"))

                // A gateway may replace a key that it alone has.
                func count() -> Int { gateway.log.split(separator: "\n").count { $0.contains("master.keys=k1,k3") } }
                try write("\(old)\nk3:\(site.freshMasterKey())")
                gateway.process.signal(SIGHUP)
                try await waitUntil("the keys are read") { count() == 1 }
                try await waitUntil("the gateway has told of its keys") { try await isKnown(["k1", "k3"]) }
                try write("\(old)\nk3:\(site.freshMasterKey())")
                gateway.process.signal(SIGHUP)
                try await waitUntil("the keys are read again") { count() == 2 }
                #expect(gateway.log.failures == 1)
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    @Test func `of two gateways that take different keys of one name at the same time, one sees the other`()
        async throws
    {
        try await Supervisor.withFolder { folder in
            try await Deployment.with(gateways: 0) { site in
                let file = folder.appending(path: "master.key")
                let old = try #require(site.environment["SLUICE_MASTER_KEY"])
                let other = site.freshMasterKey()
                try old.write(to: file, atomically: true, encoding: .utf8)
                let gateway = try await site.startGateway([
                    "SLUICE_MASTER_KEY": "", "SLUICE_MASTER_KEY_FILE": file.path,
                ])
                let own = "SELECT count(*) FROM gateways WHERE cardinality(key_ids) = 1 AND key_ids[1] LIKE 'k1:%'"
                try await waitUntil("the gateway is known") { try await site.number(own) == 1 }
                try await site.makeRival(withKey: "k2")
                try "\(old)\nk2:\(other)".write(to: file, atomically: true, encoding: .utf8)
                gateway.process.signal(SIGHUP)
                try await waitUntil("the clash is named") { gateway.log.failures == 1 }
                #expect(gateway.log.contains("running gateways have another master key 'k2': \(Deployment.rival)"))
                #expect(!gateway.log.contains("master.keys=k1,k2"))
                // What was announced is taken back.
                #expect(try await site.number(own) == 1)

                try await site.removeRival()
                gateway.process.signal(SIGHUP)
                try await waitUntil("the keys are read") { gateway.log.contains("master.keys=k1,k2") }
                #expect(try await site.number("SELECT count(*) FROM gateways WHERE key_ids[2] LIKE 'k2:%'") == 1)
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    @Test func `a new certificate is not taken with a master key that is refused`() async throws {
        try await Supervisor.withFolder { folder in
            let (files, keys) = (Files(in: folder), folder.appending(path: "master.key"))
            let first = try await files.renew("first")
            try await Deployment.with(gateways: 0) { site in
                let old = try #require(site.environment["SLUICE_MASTER_KEY"])
                try old.write(to: keys, atomically: true, encoding: .utf8)
                let gateway = try await site.startGateway([
                    "SLUICE_TLS_CERTIFICATE_FILE": files.certificate.path, "SLUICE_TLS_KEY_FILE": files.key.path,
                    "SLUICE_MASTER_KEY": "", "SLUICE_MASTER_KEY_FILE": keys.path,
                ])
                let second = try await files.renew("second")
                try "k2:short".write(to: keys, atomically: true, encoding: .utf8)
                gateway.process.signal(SIGHUP)
                try await waitUntil("the mistake is named") { gateway.log.failures == 1 }
                #expect(try await isServed(at: gateway, trusting: first))
                #expect(try await !isServed(at: gateway, trusting: second))
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    @Test func `sessions in memory are handed out until a reload`() async throws {
        // Each session has an access key of its own.
        let opened = Atomic(0)
        let tokenService = StandIn { _ in
            .bytes(assumedRole(accessKeyID: "ASIA\(opened.add(1, ordering: .relaxed).newValue)"))
        }
        try await tokenService.serve { origin in
            try await Deployment.with(gateways: 0) { site in
                let gateway = try await site.startGateway(["SLUICE_OUTBOUND_ALLOW": origin])
                site.keepSecret("secret-of-held")
                let credential = try await site.create(
                    "storage-credentials",
                    [
                        "name": "held", "accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "secret-of-held",
                        "sessionRole": [
                            "roleARN": "arn:aws:iam::123456789012:role/r", "service": "aws", "endpoint": "\(origin)",
                            "region": "eu-west-1",
                        ],
                    ])
                try await site.create(
                    "buckets",
                    [
                        "name": "held", "endpoint": "\(origin)", "region": "eu-west-1", "addressing": "path",
                        "credentialID": credential["id"],
                    ])
                let user = try await site.makeUser("alice")
                try await site.grant(
                    ["GetObject"], to: user.principal, in: "held",
                    options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
                func session() async throws -> String? {
                    try await user.client.call(
                        "POST", "/v1/sts", ["bucket": "held", "prefix": "a/", "actions": ["GetObject"]]
                    ).json["credentials"]["accessKeyID"].text
                }
                for _ in 0..<2 { #expect(try await session() == "ASIA1") }
                gateway.process.signal(SIGHUP)
                try await waitUntil("the gateway has reloaded") { gateway.log.contains("master.keys=k1") }
                for _ in 0..<2 { #expect(try await session() == "ASIA2") }
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    /// A token of `alice`, signed with a shared secret by OpenSSL.
    private func token(of issuer: String, secret: String) async throws -> String {
        let end = Int(Date().timeIntervalSince1970) + 300
        let claims: JSON = ["iss": .string(issuer), "aud": "sluice", "sub": "alice", "exp": .number(end)]
        let parts = [Array(#"{"alg":"HS256"}"#.utf8), try claims.bytes].map(TokenTests.TokenIssuer.encoded)
        let signed = parts.joined(separator: ".")
        let process = try RunningProcess(
            [
                "/bin/bash", "-euo", "pipefail", "-c",
                "printf %s '\(signed)' | openssl dgst -sha256 -hmac '\(secret)' -binary | base64 -w 0",
            ], environment: [:])
        try #require(await process.exitStatus() == 0, "\(process.errors)")
        let code = process.output.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return "\(signed).\(code)"
    }

    private func sealed(by key: String, at site: Deployment) async throws -> Int {
        try await site.number("SELECT count(*) FROM storage_credentials WHERE key_id = '\(key)'")
    }
}

extension String {
    /// How many reloads failed, according to a log.
    fileprivate var failures: Int { split(separator: "\n").count { $0.contains("reloading failed") } }
}

extension Deployment {
    /// The identifier of the gateway that ``makeRival(withKey:)`` makes.
    static let rival = "018f0000-0000-7000-8000-0000000000bb"

    /// Lets another gateway announce a key of its own as soon as a gateway of this site announces one of that name, as
    /// if both took their keys at the same time.
    func makeRival(withKey id: String) async throws {
        let session = try session()
        try await session.runScript(
            """
            CREATE FUNCTION announce_rival() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM note_gateway(
                    '\(Self.rival)', '1.0.0', now(), now(), NULL, NULL, '{\(id):0123456789abcdef}', 1, '');
                RETURN NULL;
            END
            $$;
            CREATE TRIGGER announce_rival AFTER INSERT OR UPDATE ON gateways FOR EACH ROW
            WHEN (NEW.id <> '\(Self.rival)' AND NEW.key_ids::text LIKE '%\(id):%')
            EXECUTE FUNCTION announce_rival();
            """)
        await session.close()
    }

    /// Takes the other gateway away again.
    func removeRival() async throws {
        let session = try session()
        try await session.runScript(
            "DROP FUNCTION announce_rival() CASCADE; DELETE FROM gateways WHERE id = '\(Self.rival)'")
        await session.close()
    }
}
