import FoundationEssentials
import GatewayCore
import LibCrypto
import StrictJSON

/// The formats of a ledger export.
enum IssuanceExport: String, CaseIterable {
    /// One JSON object per line.
    case ndjson
    /// RFC 4180, with a header line.
    case csv

    /// The media type of the format.
    var mediaType: String {
        switch self {
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8; header=present"
        }
    }

    /// The bytes before the first row; `nil` where there are none.
    var header: [UInt8]? {
        switch self {
        case .ndjson: nil
        case .csv: Array((Self.columns.joined(separator: ",") + "\r\n").utf8)
        }
    }

    /// Formats rows, each with its line end.
    func rows(_ rows: [RecordedIssuance]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rows.count * 700)
        for row in rows {
            switch self {
            case .ndjson:
                var json = JSONWriter(capacity: 700)
                json.object { row.write(to: &$0) }
                bytes += json.bytes
                bytes.append(UInt8(ascii: "\n"))
            case .csv:
                for (index, cell) in Self.cells(row).enumerated() {
                    if index > 0 { bytes.append(UInt8(ascii: ",")) }
                    Self.append(cell, to: &bytes)
                }
                bytes += [0x0d, 0x0a]
            }
        }
        return bytes
    }

    private static let columns = [
        "id", "issuedAt", "expiresAt", "delivery", "principal", "matchedPrincipal", "grantID", "credentialID",
        "actions",
        "method", "bucket", "key", "contentType", "contentMD5", "contentLength", "requestId", "policySequence",
    ]

    private static func cells(_ row: RecordedIssuance) -> [String] {
        [
            row.id.lowercaseText, Timestamp.text(of: row.issuedAt), Timestamp.text(of: row.expiresAt), row.delivery,
            row.principal, row.matchedPrincipal, row.grantID.lowercaseText, row.credentialID.lowercaseText,
            row.actions.joined(separator: " "), row.method, row.bucket, row.key, row.contentType ?? "",
            row.contentMD5.map { Base64.encode($0) } ?? "", row.contentLength.map { String($0) } ?? "", row.requestID,
            String(row.policySequence),
        ]
    }

    /// Appends a cell, quoted where necessary. A text that a spreadsheet would take for a formula gets an apostrophe,
    /// as OWASP advises ("CSV Injection"): users chose the keys and names.
    static func append(_ cell: String, to bytes: inout [UInt8]) {
        var cell = Array(cell.utf8)
        if let first = cell.first, "=+-@\t\r".utf8.contains(first) { cell.insert(UInt8(ascii: "'"), at: 0) }
        guard cell.contains(where: { "\",\r\n".utf8.contains($0) }) else {
            bytes += cell
            return
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in cell {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
