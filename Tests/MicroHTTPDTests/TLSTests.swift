import Foundation
import HTTPServing
import HTTPTypes
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite(.timeLimit(.minutes(2))) struct TLSTests {
    /// Runs `body` with a self-signed certificate for 127.0.0.1, made by the openssl command.
    static func withCertificate(_ body: (HTTPServerConfiguration.TLS) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificate, key) = try OpenSSL.makeCertificate(in: folder)
        try await body(.init(certificateFile: certificate, keyFile: key))
    }

    /// Runs a command to its end; returns its exit status and output.
    static func run(_ command: String, _ arguments: [String]) async throws -> (Int32, String) {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "command").async {
                let process = Process()
                let output = Pipe()
                process.executableURL = URL(filePath: "/usr/bin/env")
                process.arguments = [command] + arguments
                process.standardOutput = output
                process.standardError = FileHandle.nullDevice
                process.standardInput = FileHandle.nullDevice
                do {
                    try process.run()
                    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                    process.waitUntilExit()
                    continuation.resume(returning: (process.terminationStatus, text))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    @Test func `an answer whose head is too long for the connection is a refusal`() async throws {
        let responder = TestResponder { _ in
            var response = ServerResponse.text("long")
            response.head.headerFields[.location] = String(repeating: "l", count: 9_000)
            return response
        }
        try await Self.withCertificate { tls in
            try await TestServer.with(responder) {
                $0.tls = tls
            } body: { server in
                let url = "https://127.0.0.1:\(server.port)/"
                let (_, text) = try await Self.run("curl", ["-sS", "--cacert", tls.certificateFile, url])
                #expect(text == "refused: headerFieldsTooLarge(maxBytes: 8192)")
            }
        }
    }

    @Test func `a client that trusts the certificate is served`() async throws {
        try await Self.withCertificate { tls in
            try await TestServer.with(.echo) {
                $0.tls = tls
            } body: { server in
                let (status, text) = try await Self.run(
                    "curl",
                    [
                        "-sS", "--cacert", tls.certificateFile, "-d", "hello", "https://127.0.0.1:\(server.port)/a",
                        "https://127.0.0.1:\(server.port)/b",
                    ])
                #expect(status == 0)
                let host = "127.0.0.1:\(server.port)"
                #expect(text == "POST /a \(host)|helloPOST /b \(host)|hello")
            }
        }
    }

    @Test func `a refused body is refused over TLS too`() async throws {
        try await Self.withCertificate { tls in
            try await TestServer.with(.echo) {
                $0.tls = tls
            } body: { server in
                let body = String(repeating: "a", count: 2_000)
                let (_, text) = try await Self.run(
                    "curl",
                    [
                        "-sS", "-k", "-o", "/dev/null", "-w", "%{http_code}", "-d", body,
                        "https://127.0.0.1:\(server.port)/",
                    ])
                #expect(text == "413")
            }
        }
    }

    @Test func `a long body whose caller is refused is read to its end over TLS, so that the client reads the answer`()
        async throws
    {
        let responder = TestResponder { _ in
            .collect(maxBytes: 1 << 20)
        } answer: { _ in
            .text("who", status: .unauthorized)
        }
        try await Self.withCertificate { tls in
            try await TestServer.with(responder) {
                $0.tls = tls
            } body: { server in
                let file = FileManager.default.temporaryDirectory.appending(path: "body-\(UUID().uuidString)")
                try Data(repeating: 0x61, count: 1_000_000).write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                let (status, text) = try await Self.run(
                    "curl",
                    [
                        "-sS", "-k", "-H", "Expect:", "-w", "%{http_code}", "--data-binary", "@" + file.path,
                        "https://127.0.0.1:\(server.port)/",
                    ])
                #expect(status == 0 && text == "who401")
            }
        }
    }

    @Test(arguments: [[], ["-H", "Transfer-Encoding: chunked"]])
    func `a body that is answered in its middle is read to its end over TLS, so that the client reads the answer`(
        framing: [String]
    ) async throws {
        let responder = TestResponder { _ in
            .stream(maxBytes: 1 << 30)
        } answer: { request in
            guard case .stream(let chunks) = request.body else { return .text("collected") }
            do { for try await _ in chunks { break } } catch { return .text("\(error)") }
            return .text("no", status: .badRequest)
        }
        try await Self.withCertificate { tls in
            try await TestServer.with(responder) {
                $0.tls = tls
            } body: { server in
                let file = FileManager.default.temporaryDirectory.appending(path: "body-\(UUID().uuidString)")
                try Data(repeating: 0x61, count: 20_000_000).write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                let (status, text) = try await Self.run(
                    "curl",
                    ["-sS", "-k", "-H", "Expect:", "-w", "%{http_code}", "-T", file.path] + framing
                        + ["https://127.0.0.1:\(server.port)/"])
                #expect(status == 0 && text == "no400")
            }
        }
    }

    @Test func `a chunked body without an end is cut off over TLS too`() async throws {
        let responder = TestResponder { _ in
            .stream(maxBytes: 1_000)
        } answer: { _ in
            .text("no", status: .badRequest)
        }
        try await Self.withCertificate { tls in
            try await TestServer.with(responder) {
                $0.tls = tls
                $0.maxDiscardedBytesUnderTLS = 1_000_000
            } body: { server in
                let (status, _) = try await Self.run(
                    "sh",
                    [
                        "-c",
                        "curl -sS -k -H 'Transfer-Encoding: chunked' -H Expect: -T - https://127.0.0.1:$0/ </dev/zero",
                        "\(server.port)",
                    ])
                #expect(status != 0)
            }
        }
    }

    @Test(arguments: ["-tls1", "-tls1_1"])
    func `TLS before 1.2 is refused`(version: String) async throws {
        try await Self.withCertificate { tls in
            try await TestServer.with(.echo) {
                $0.tls = tls
            } body: { server in
                let (status, _) = try await Self.run(
                    "openssl",
                    ["s_client", "-connect", "127.0.0.1:\(server.port)", version, "-cipher", "ALL:@SECLEVEL=0"])
                #expect(status != 0)
            }
        }
    }

    @Test func `a file that is missing or no certificate is an error at start`() async throws {
        await #expect(throws: HTTPServerError.unreadableFile(path: "/nowhere", reason: "No such file or directory")) {
            try await TestServer.with(.echo) {
                $0.tls = .init(certificateFile: "/nowhere", keyFile: "/nowhere")
            } body: { _ in
            }
        }
        try await Self.withCertificate { tls in
            let folder = URL(filePath: tls.keyFile).deletingLastPathComponent()
            func file(_ name: String, _ text: String) throws -> String {
                let path = folder.appending(path: name)
                try text.write(to: path, atomically: true, encoding: .utf8)
                return path.path
            }
            let key = try String(contentsOfFile: tls.keyFile, encoding: .utf8)
            let certificate = try String(contentsOfFile: tls.certificateFile, encoding: .utf8)
            let (_, encrypted) = try await Self.run(
                "openssl", ["pkcs8", "-topk8", "-in", tls.keyFile, "-passout", "pass:made-up"])
            let others = folder.appending(path: "other")
            try FileManager.default.createDirectory(at: others, withIntermediateDirectories: true)
            let (_, other) = try OpenSSL.makeCertificate(in: others)
            let (empty, words) = (try file("empty", ""), try file("words", "words"))
            let certificates = [
                (empty, "is empty"), (words, "has no certificate in PEM"), (tls.keyFile, "has no certificate in PEM"),
                (try file("short", String(certificate.dropLast(60))), "has a certificate that cannot be read"),
            ]
            let keys = [
                (empty, "is empty"), (words, "has no private key in PEM"),
                (tls.certificateFile, "has no private key in PEM"), (try file("sealed", encrypted), "is encrypted"),
                (try file("cut", String(key.dropLast(60))), "has a private key that cannot be read"),
                (other, "is not the key of the first certificate in \(tls.certificateFile)"),
            ]
            for (place, (path, reason)) in (certificates + keys).enumerated() {
                var files = tls
                if place < certificates.count { files.certificateFile = path } else { files.keyFile = path }
                let error = HTTPServerError.unusableFile(path: path, reason: reason)
                let unusable = files
                #expect(throws: error) { () throws in try HTTPServer.checkCertificate(unusable) }
                await #expect(throws: error) {
                    try await TestServer.with(.echo) {
                        $0.tls = unusable
                    } body: { _ in
                    }
                }
            }
            try HTTPServer.checkCertificate(tls)
        }
    }

    /// Forms of a text in PEM that the library of TLS takes, though OpenSSL does not take all of them.
    private static let forms: [(name: String, apply: @Sendable (String) -> String)] = [
        ("as made", { $0 }), ("no line end at the end", { $0.trimmingCharacters(in: .newlines) }),
        ("CRLF", { $0.replacing("\n", with: "\r\n") }), ("CR", { $0.replacing("\n", with: "\r") }),
        ("indented", { $0.replacing("\n", with: "\n  ").replacing("-----BEGIN", with: "  -----BEGIN") }),
        ("a text before the label", { "a: " + $0 }), ("a byte order mark", { "\u{FEFF}" + $0 }),
        ("a text around it", { "Made up.\n" + $0 + "\nThe end.\n" }),
    ]

    @Test func `a server takes each form of PEM that its library takes`() async throws {
        try await Self.withCertificate { tls in
            let folder = URL(filePath: tls.keyFile).deletingLastPathComponent()
            let certificate = try String(contentsOfFile: tls.certificateFile, encoding: .utf8)
            let key = try String(contentsOfFile: tls.keyFile, encoding: .utf8)
            // The same certificate twice is a chain to the library.
            let joined = certificate.trimmingCharacters(in: .newlines) + certificate
            for (name, apply) in Self.forms {
                for (own, ownKey) in [(certificate, apply(key)), (apply(certificate), key), (apply(joined), key)] {
                    var files = tls
                    files.certificateFile = folder.appending(path: "formed.crt").path
                    files.keyFile = folder.appending(path: "formed.key").path
                    try own.write(toFile: files.certificateFile, atomically: true, encoding: .utf8)
                    try ownKey.write(toFile: files.keyFile, atomically: true, encoding: .utf8)
                    let formed = files
                    try await TestServer.with(.echo) {
                        $0.tls = formed
                    } body: { server in
                        let url = "https://127.0.0.1:\(server.port)/"
                        let (status, _) = try await Self.run("curl", ["-sS", "-k", url])
                        #expect(status == 0, "\(name)")
                    }
                }
            }
        }
    }
}
