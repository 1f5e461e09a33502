import Foundation
import MicroHTTPD
import Testing

/// Requests that libmicrohttpd refuses by itself, over TLS, where nothing can be written past it.
@Suite(.timeLimit(.minutes(2))) struct OwnRefusalTests {
    private static let start = "GET / HTTP/1.1\r\nHost: a\r\n"
    /// Each request, and whether libmicrohttpd has read the head to its end by then.
    static let requests: [(request: String, status: Int, isHeadComplete: Bool)] = [
        (
            start + "Cookie: " + (0..<250).map { "a\($0)=b" }.joined(separator: "; ") + "\r\n\r\n", 431, true
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello", 400, true),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400, true),
        (start + "X: " + String(repeating: "a", count: 16_384), 431, false),
        (start + (0..<280).map { "X\($0): a\r\n" }.joined() + "\r\n", 431, false),
        ("GET /" + String(repeating: "a", count: 16_379), 414, false),
        (start + "nonsense\r\n\r\n", 400, false),
    ]

    @Test(arguments: requests)
    func `is answered once over TLS, or not at all`(request: String, status: Int, isHeadComplete: Bool) async throws {
        try await TLSTests.withCertificate { tls in
            try await TestServer.with(.echo) {
                $0.tls = tls
            } body: { server in
                let file = FileManager.default.temporaryDirectory.appending(path: "request-\(UUID().uuidString)")
                try Data(request.utf8).write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                // Reads everything that the server sends, however the connection ends.
                let (_, answer) = try await TLSTests.run(
                    "sh",
                    [
                        "-c", #"exec openssl s_client -quiet -connect "$1" < "$2""#, "sh",
                        "127.0.0.1:\(server.port)", file.path,
                    ])
                if isHeadComplete {
                    #expect(answer.isEmpty)
                } else {
                    #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
                    #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
                    #expect(answer.components(separatedBy: "\r\n\r\n").last?.hasPrefix("refused: ") == true)
                }
                let (_, next) = try await TLSTests.run(
                    "curl", ["-sS", "--cacert", tls.certificateFile, "https://127.0.0.1:\(server.port)/next"])
                #expect(next.hasPrefix("GET /next "))
            }
        }
    }
}
