import Foundation
import Glibc
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// The gateway under systemd: what it tells, the sockets that it gets, and how it stops.
@Suite(.timeLimit(.minutes(3))) struct SupervisionTests {
    @Test(arguments: [true, false])
    func `systemd hears that the gateway serves, lives and stops`(isAbstract: Bool) async throws {
        try await Supervisor.withFolder { folder in
            let name = isAbstract ? "@\(folder.lastPathComponent)" : folder.appending(path: "notify").path
            let ear = try await Supervisor.hearing(at: name)
            try await Deployment.with(gateways: 0) { site in
                let gateway = try await site.startGateway(["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"])
                try await waitUntil("it serves") { ear.count(of: "READY=1") == 1 }
                // Readiness follows with the first recording that is tried.
                try await waitUntil("it is ready") { try await site.client().call("GET", "/readyz").status == 200 }
                let lives = ear.count(of: "WATCHDOG=1")
                try await waitUntil("it lives") { ear.count(of: "WATCHDOG=1") >= lives + 5 }
                #expect(ear.count(of: "STATUS=Serving on 127.0.0.1 port \(gateway.port).") == 1)
                #expect(ear.count(of: "STOPPING=1") == 0)
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
                // The unit's TimeoutStopSec may be shorter than what the settings allow.
                try await waitUntil("systemd has heard of the end") {
                    ear.count(of: "EXTEND_TIMEOUT_USEC=30000000") == 1 && ear.count(of: "STOPPING=1") == 1
                        && ear.count(of: "STATUS=Draining.") == 1
                }
            }
        }
    }

    @Test func `systemd does not hear that a gateway serves whose certificate has another key`() async throws {
        try await Supervisor.withFolder { folder in
            let ear = try await Supervisor.hearing(at: "@\(folder.lastPathComponent)")
            let places = try ["one", "other"].map { name in
                let place = folder.appending(path: name)
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                return try OpenSSL.makeCertificate(in: place)
            }
            try await Deployment.with(gateways: 1) { site in
                let error = try await #require(throws: ProgramError.self) {
                    try await site.startGateway([
                        "NOTIFY_SOCKET": "@\(folder.lastPathComponent)",
                        "SLUICE_TLS_CERTIFICATE_FILE": places[0].certificate, "SLUICE_TLS_KEY_FILE": places[1].key,
                    ])
                }
                #expect(error.status == 1 && ear.count(of: "READY=1") == 0, "\(error)")
            }
        }
    }

    @Test func `a watchdog that waits for another process gets nothing`() async throws {
        try await Supervisor.withFolder { folder in
            let ear = try await Supervisor.hearing(at: "@\(folder.lastPathComponent)")
            try await Deployment.with(gateways: 0) { site in
                let gateway = try await site.startGateway([
                    "NOTIFY_SOCKET": "@\(folder.lastPathComponent)", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1",
                ])
                try await waitUntil("it serves") { ear.count(of: "READY=1") == 1 }
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
                #expect(ear.count(of: "WATCHDOG=1") == 0)
            }
        }
    }

    @Test func `clients that connect while a gateway restarts are served by the next`() async throws {
        try await Supervisor.withFolder { folder in
            try await Deployment.with(gateways: 0) { site in
                let note = folder.appending(path: "gateway")
                let gateway = try await site.startGateway(by: Supervisor.holding(socketNamed: "api", file: note))
                try await site.makeBucket("restarts")
                let user = try await site.makeUser("alice")
                try await site.grant(["GetObject"], to: user.principal, in: "restarts")
                let request = try user.client.request(
                    "POST", "/v1/presigned-urls", .download("k", from: "restarts"), keepsConnection: false)
                let (tally, isOver) = (Tally(), Flag())
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await onThreads(8) { _ in
                            while !isOver.isRaised {
                                do {
                                    var connection = try RawConnection(port: gateway.port)
                                    try connection.send(request.bytes)
                                    tally.note(try connection.response(), expected: [201])
                                } catch {
                                    tally.complain("\(error)")
                                    return
                                }
                            }
                        }
                    }
                    group.addTask {
                        defer { isOver.raise() }
                        for _ in 0..<setting("SLUICE_TEST_RESTARTS", default: 5) {
                            let issued = tally.count(of: 201)
                            try await waitUntil("links flow") { tally.count(of: 201) >= issued + 50 }
                            let running = try String(contentsOf: note, encoding: .utf8)
                            kill(try #require(pid_t(running)), SIGTERM)
                            try await waitUntil("the next gateway runs") {
                                try String(contentsOf: note, encoding: .utf8) != running
                            }
                        }
                        let issued = tally.count(of: 201)
                        try await waitUntil("links flow again") { tally.count(of: 201) >= issued + 50 }
                    }
                    try await group.waitForAll()
                }
                #expect(tally.wrong.isEmpty, "\(tally.wrong)")
                #expect(!gateway.log.contains("the gateway ended with"))
                #expect(try await site.number("SELECT count(*) FROM issuances") == tally.count(of: 201))
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    @Test func `sockets that no listener can use are refused at the start`() async throws {
        try await Deployment.with { site in
            let cases = [
                ("web", "a socket named 'web' was passed; 'FileDescriptorName=' must be api or admin"),
                ("api", "The socket that was passed to the process does not listen."),
                ("admin", "The socket that was passed to the process does not listen."),
            ]
            // Without a socket, nobody could listen at both addresses.
            let address = "127.0.0.1:28080"
            let settings = ["SLUICE_LISTEN": address, "SLUICE_ADMIN_LISTEN": address]
            for (name, cause) in cases {
                let launcher = """
                    export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=\(name); exec "$@" 3</dev/null
                    """
                let error = try await #require(throws: ProgramError.self) {
                    try await site.startGateway(settings, by: ["/bin/bash", "-c", launcher, "launcher"])
                }
                #expect(error.status == 1 && error.output.contains(cause), "\(error)")
            }
        }
    }

    @Test func `sockets that were passed to another process are left alone`() async throws {
        try await Deployment.with(gateways: 0) { site in
            let launcher = #"export LISTEN_PID=1 LISTEN_FDS=1 LISTEN_FDNAMES=web; exec "$@" 3</dev/null"#
            let gateway = try await site.startGateway(by: ["/bin/bash", "-c", launcher, "launcher"])
            await site.end(gateway) { #expect(await gateway.terminate() == 0) }
        }
    }

    /// A proxy sends requests over connections that it keeps. What it sends while one is closed is lost.
    @Test func `kept connections end with an answer that says so while a gateway drains, and lose no request`()
        async throws
    {
        try await Deployment.with(settings: ["SLUICE_HTTP_DRAIN_DELAY": "3"]) { site in
            try await site.makeBucket("kept")
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: "kept")
            let gateway = site.gateways[0]
            let request = try user.client.request("POST", "/v1/presigned-urls", .download("k", from: "kept"))
            let probe = try site.client().request("GET", "/readyz")
            let (tally, isOver) = (Tally(), Flag())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await onThreads(16) { _ in
                        try Self.useUp(request, port: gateway.port, until: isOver) { answer in
                            Deployment.keepSecrets(of: answer, from: gateway.port)
                            tally.note(answer, expected: [201])
                        }
                        // Whoever comes while the load balancer has not noticed is served as well.
                        var next = try RawConnection(port: gateway.port)
                        try next.send(request.bytes)
                        tally.note(try next.response(), expected: [201])
                    }
                }
                // So is a load balancer that keeps the connection over which it asks.
                group.addTask {
                    try await onThread { try Self.useUp(probe, port: gateway.port, until: isOver) { _ in } }
                    #expect(try await site.client().call("GET", "/readyz").status == 503)
                }
                try await waitUntil("requests flow") { tally.count(of: 201) >= 64 }
                isOver.raise()
                gateway.process.signal(SIGTERM)
                try await group.waitForAll()
            }
            #expect(tally.wrong.isEmpty, "\(tally.wrong)")
            await site.end(gateway) { #expect(await gateway.process.exitStatus() == 0) }
        }
    }

    /// Sends a request again and again over one connection, until an answer says that it is the last, which none may do
    /// before the run is over.
    private static func useUp(
        _ request: RawRequest, port: UInt16, until isOver: Flag, _ note: (RawResponse) -> Void
    ) throws {
        var connection = try RawConnection(port: port)
        while true {
            try connection.send(request.bytes)
            let answer = try connection.response()
            note(answer)
            if answer["Connection"]?.lowercased() == "close" {
                guard isOver.isRaised else { throw RawHTTPError.closedEarly }
                return
            }
            usleep(50_000)
        }
    }

    @Test func `a gateway that stops says so in readyz while it still serves`() async throws {
        try await Deployment.with(settings: ["SLUICE_HTTP_DRAIN_DELAY": "10"]) { site in
            try await site.makeBucket("drain")
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: "drain")
            let gateway = site.gateways[0]
            try await waitUntil("the gateway is ready") {
                try await site.client().call("GET", "/readyz").status == 200
            }
            gateway.process.signal(SIGTERM)
            try await waitUntil("it is not ready any more") {
                try await site.client().call("GET", "/readyz").status == 503
            }
            let told = try await site.client().call("GET", "/readyz")
            let check = try #require(told.json["checks"].items.first { $0["name"] == "serving" })
            #expect(check["flaw"].text == "The gateway is draining: it stops soon, so send it no new requests.")
            #expect(try await user.ask(.download("k", from: "drain")).status == 201)
            #expect(try await site.client().call("GET", "/healthz").status == 200)
            await site.end(gateway) { #expect(await gateway.process.exitStatus() == 0) }
            #expect(throws: RawHTTPError.self) { _ = try RawConnection(port: gateway.port) }
        }
    }
}
