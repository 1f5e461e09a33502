import HTTPServing
import HTTPTypes

/// An element of an XML answer.
struct StoreXML: Sendable {
    private let text: String

    /// An element with text, which is escaped.
    init(_ name: String, _ content: String) {
        text = "<\(name)>\(Self.escaped(content))</\(name)>"
    }

    /// An element with children.
    init(_ name: String, namespace: String? = nil, _ children: [StoreXML]) {
        let attribute = namespace.map { " xmlns=\"\($0)\"" } ?? ""
        text = "<\(name)\(attribute)>\(children.map(\.text).joined())</\(name)>"
    }

    /// The bytes of a document with this root.
    var document: [UInt8] {
        Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\(text)".utf8)
    }

    /// An answer with this root.
    func response(_ status: HTTPResponse.Status = .ok, fields: HeaderFields = HeaderFields()) -> ServerResponse {
        var fields = fields
        fields[.contentType] = "application/xml"
        return ServerResponse(head: ResponseHead(status: status, headerFields: fields), body: .bytes(document))
    }

    /// The namespace of S3's answers.
    static let s3 = "http://s3.amazonaws.com/doc/2006-03-01/"

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            // XML 1.0 cannot represent these characters.
            case "\u{0}"..<"\u{9}", "\u{B}"..<"\u{D}", "\u{E}"..<" ", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension StoreDialect {
    /// The namespace of XML answers.
    var namespace: String? { self == .s3 ? StoreXML.s3 : nil }
}
