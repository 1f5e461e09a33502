import Foundation
import HTTPServing
import HTTPTypes

/// An answer in the form in which it is kept, before it is sealed.
struct KeptAnswer: Codable {
    /// Longest body that is kept, in bytes; a longer answer is not given again.
    static let maxBodyBytes = 1 << 20

    private struct Field: Codable {
        let name: String
        let value: String
    }

    private let status: Int
    private let fields: [Field]
    private let body: Data

    /// Takes down an answer; `nil` for one that is too long, or streams.
    init?(_ response: ServerResponse) {
        guard case .bytes(let bytes) = response.body, bytes.count <= Self.maxBodyBytes else { return nil }
        status = response.head.status.code
        fields = response.head.headerFields.map { Field(name: $0.name.rawName, value: $0.value) }
        body = Data(bytes)
    }

    /// Reads what was kept; `nil` where it cannot be read.
    init?(bytes: [UInt8]) {
        guard let answer = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = answer
    }

    /// The bytes to keep; `nil` where they cannot be made.
    var bytes: [UInt8]? {
        (try? JSONEncoder().encode(self)).map { Array($0) }
    }

    /// The answer.
    var response: ServerResponse {
        var head = ResponseHead(status: .init(code: status))
        for field in fields {
            guard let name = HTTPField.Name(field.name) else { continue }
            head.headerFields.append(name, field.value)
        }
        return ServerResponse(head: head, body: .bytes(Array(body)))
    }
}
