import FoundationEssentials
import HTTPServing
import HTTPTypes

/// An answer in the form in which it is kept, before it is sealed.
struct KeptAnswer: Codable {
    /// Longest body that is kept, in bytes. A longer answer cannot be repeated. The longest, that of a full batch of
    /// grants, has about 1.2 MB.
    static let maxBodyBytes = 2 << 20

    private struct Field: Codable {
        let name: String
        let value: String
    }

    private let status: Int
    private let fields: [Field]
    private let body: Data

    /// Keeps an answer; `nil` where the body is too long or is a stream.
    init?(_ response: ServerResponse) {
        guard case .bytes(let bytes) = response.body, bytes.count <= Self.maxBodyBytes else { return nil }
        status = response.head.status.code
        fields = response.head.headerFields.map { Field(name: $0.name.rawName, value: $0.value) }
        body = Data(bytes)
    }

    /// Reads a kept answer; `nil` where it cannot be read.
    init?(bytes: [UInt8]) {
        guard let answer = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = answer
    }

    /// The bytes to keep; `nil` where encoding fails.
    var bytes: [UInt8]? {
        (try? JSONEncoder().encode(self)).map { Array($0) }
    }

    /// The answer to send again.
    var response: ServerResponse {
        var head = ResponseHead(status: .init(code: status))
        for field in fields {
            guard let name = HTTPField.Name(field.name) else { continue }
            head.headerFields.append(name, field.value)
        }
        return ServerResponse(head: head, body: .bytes(Array(body)))
    }
}
