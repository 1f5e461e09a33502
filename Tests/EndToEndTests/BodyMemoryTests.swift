import Foundation
import HTTPTesting
import Testing

/// The memory that request bodies take in the program.
@Suite(.timeLimit(.minutes(2)))
struct BodyMemoryTests {
    private static let apply = "/admin/v1/grants:apply"
    private static let routes = [("/v1/presigned-urls/batch", 2 << 20), (apply, 16 << 20)]

    private static func head(_ path: String, length: Int, token: String?) -> String {
        "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            + (token.map { "Authorization: Bearer \($0)\r\n" } ?? "") + "Content-Length: \(length)\r\n\r\n"
    }

    /// The peak memory of a process as the kernel reports it, in MB.
    private static func highest(of gateway: GatewayProcess) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(gateway.process.processID)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber))) / 1_024
    }

    @Test func `bodies of callers without a token take no memory`() async throws {
        try await Deployment.with { deployment in
            let gateway = try #require(deployment.gateways.first)
            let port = gateway.port
            #expect(try await deployment.admin.call("GET", "/admin/v1/grants").status == 200)
            let before = try Self.highest(of: gateway)
            for (path, length) in Self.routes {
                let body = [UInt8](repeating: 0x20, count: length)
                try await onThreads(60) { number in
                    var client = try RawConnection(port: port)
                    let token = number.isMultiple(of: 2) ? nil : "nobody"
                    try client.send(Self.head(path, length: length, token: token))
                    // The client gets its answer, and may be cut off, before it has sent everything.
                    try? client.send(body)
                    let answer = String(decoding: try client.receive(), as: UTF8.self)
                    #expect(answer.hasPrefix("HTTP/1.1 401 "))
                }
            }
            #expect(try Self.highest(of: gateway) - before < 48)
        }
    }

    @Test func `bodies beyond what is allowed get 503, small ones do not, and there is room again`() async throws {
        try await Deployment.with(settings: ["SLUICE_HTTP_MAX_BODY_MEMORY": "32"]) { deployment in
            let gateway = try #require(deployment.gateways.first)
            let port = gateway.port
            let token = deployment.environment["SLUICE_BOOTSTRAP_ADMIN_KEY"] ?? ""
            let length = 15 << 20
            try await withConnection(to: port) { first in
                try first.send(Self.head(Self.apply, length: length, token: token))
                try first.send([UInt8](repeating: 0x20, count: length - 1))
                // Long bodies have room for 24 MiB; this sends slightly more.
                var second = try RawConnection(port: port)
                try second.send(Self.head(Self.apply, length: length, token: token))
                try? second.send([UInt8](repeating: 0x20, count: 10_000_000))
                let refused = String(decoding: try second.receive(), as: UTF8.self)
                #expect(refused.hasPrefix("HTTP/1.1 503 ") && refused.contains("SlowDown"))
                #expect(refused.lowercased().contains("retry-after: 1"))
                let short = #"{"principal":"user:a"}"#
                var third = try RawConnection(port: port)
                try third.send(Self.head("/admin/v1/explain", length: short.utf8.count, token: token) + short)
                let answer = String(decoding: try third.receive(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 400 "))
                try first.send([0x20])
                let ended = String(decoding: try first.receive(), as: UTF8.self)
                #expect(ended.hasPrefix("HTTP/1.1 400 "))
            }
            try await withConnection(to: port) { later in
                for _ in 0..<3 {
                    try later.send(Self.head(Self.apply, length: length, token: token))
                    try later.send([UInt8](repeating: 0x20, count: length))
                    let answer = String(decoding: try later.receive(), as: UTF8.self)
                    #expect(answer.hasPrefix("HTTP/1.1 400 "))
                }
            }
        }
    }
}
