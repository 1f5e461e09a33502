import Foundation
import LibZ
import Testing

/// Compression, checked by the system's gzip.
@Suite struct GzipTests {
    /// Decompresses by `gzip -d`.
    private func decompressed(_ bytes: [UInt8]) throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appending(path: "gzip-\(UUID().uuidString).gz")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/gzip")
        process.arguments = ["-dc", file.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return Array(data)
    }

    @Test(arguments: [0, 1, 70, 1 << 16, 3_000_001])
    func `gzip restores what was compressed`(count: Int) throws {
        var number: UInt32 = 7
        let bytes = (0..<count).map { index -> UInt8 in
            number = number &* 1_664_525 &+ 1_013_904_223
            return index.isMultiple(of: 3) ? UInt8(truncatingIfNeeded: number >> 24) : UInt8(truncatingIfNeeded: index)
        }
        #expect(try decompressed(Gzip.compressed(bytes)) == bytes)
    }

    @Test func `the same bytes give the same result, without a time or a name`() {
        let text = Array(String(repeating: "presigned URL ", count: 500).utf8)
        let once = Gzip.compressed(text)
        #expect(once == Gzip.compressed(text) && once.count < 100)
        // RFC 1952: magic, deflate, no flags, no time.
        #expect(once.prefix(8) == [0x1f, 0x8b, 8, 0, 0, 0, 0, 0])
    }
}
