import Bytes

/// Headers that the response to a download must have, in place of the object's own.
///
/// A class, because few requests have overrides.
public final class ResponseOverrides: Sendable {
    /// The members of `response` as received; `nil` if absent.
    public struct Fields: Sendable, Equatable {
        /// `Content-Disposition`, in ASCII.
        public var contentDisposition: String?
        /// Name under which a browser saves the object, in any script. It makes the disposition `attachment`.
        public var filename: String?
        /// `Content-Type`.
        public var contentType: String?
        /// `Content-Language`.
        public var contentLanguage: String?
        /// `Cache-Control`.
        public var cacheControl: String?
        /// `Expires`.
        public var expires: String?
        /// `Content-Encoding`.
        public var contentEncoding: String?

        /// Creates fields that are all absent.
        public init() {}
    }

    /// `Content-Disposition`, whether it was given as such or as a file name.
    public let contentDisposition: String?
    /// `Content-Type`.
    public let contentType: MediaType?
    /// `Content-Language`.
    public let contentLanguage: String?
    /// `Cache-Control`.
    public let cacheControl: String?
    /// `Expires`.
    public let expires: String?
    /// `Content-Encoding`.
    public let contentEncoding: String?

    /// No overrides, as in every upload.
    static let none = ResponseOverrides()

    private init() {
        contentDisposition = nil
        contentType = nil
        contentLanguage = nil
        cacheControl = nil
        expires = nil
        contentEncoding = nil
    }

    /// Validates overrides.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for a value that a header cannot have, such as one
    ///   with a line break.
    public init(_ fields: Fields) throws(GatewayError) {
        let disposition = try Self.header(fields.contentDisposition, "contentDisposition")
        if let disposition, !Self.isDisposition(disposition) {
            throw .invalidArgument(
                field: "response.contentDisposition",
                reason: "The disposition must be 'inline' or 'attachment', alone or followed by ';' and parameters."
            )
        }
        if let filename = fields.filename {
            guard disposition == nil else {
                throw .invalidArgument(
                    field: "response.filename", reason: "Send either a file name or a disposition, not both."
                )
            }
            contentDisposition = try Self.attachment(named: filename)
        } else {
            contentDisposition = disposition
        }
        contentType = try Self.mediaType(fields.contentType)
        contentLanguage = try Self.header(fields.contentLanguage, "contentLanguage")
        cacheControl = try Self.header(fields.cacheControl, "cacheControl")
        expires = try Self.header(fields.expires, "expires")
        contentEncoding = try Self.header(fields.contentEncoding, "contentEncoding")
    }

    /// Whether a browser saves the response instead of showing it.
    var isAttachment: Bool {
        contentDisposition.map { Self.dispositionType($0).elementsEqual("attachment".utf8) } ?? false
    }

    /// Returns the header that makes a browser save the object under a name (RFC 6266, section 4; RFC 8187).
    ///
    /// The plain form replaces every character that old clients misread with `_`. A second, exact form follows if the
    /// two differ.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for an invalid file name: empty, above 255 bytes, `.`
    ///   or `..`, or with `/`, `\` or control characters.
    static func attachment(named name: String) throws(GatewayError) -> String {
        guard 1...255 ~= name.utf8.count, name != ".", name != "..",
            !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }),
            name.unicodeScalars.allSatisfy({ !isConfusing($0) })
        else {
            throw .invalidArgument(
                field: "response.filename",
                reason: "The file name must be 1 to 255 bytes without '/', '\\' or control characters, "
                    + "and must not be '.' or '..'."
            )
        }
        let plain = String(
            String.UnicodeScalarView(
                name.unicodeScalars.map { 0x20...0x7e ~= $0.value && $0 != "\"" && $0 != "%" ? $0 : "_" }
            )
        )
        let header = "attachment; filename=\"\(plain)\""
        return plain.isSameBytes(as: name) ? header : header + "; filename*=UTF-8''" + extended(name)
    }

    /// Whether a character is a control character, or a mark that makes a name display in another order than it is
    /// stored.
    private static func isConfusing(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
            || scalar.properties.generalCategory == .lineSeparator
            || scalar.properties.generalCategory == .paragraphSeparator
    }

    /// `attr-char` of RFC 8187.
    private static let attributeCharacters = ByteSet.unreserved.union("!#$&+^`|")

    private static func extended(_ text: String) -> String {
        String(decoding: PercentEncoding.encode(text, keeping: attributeCharacters), as: UTF8.self)
    }

    private static func header(_ text: String?, _ field: String) throws(GatewayError) -> String? {
        guard let text else { return nil }
        guard text.isHeaderValue else {
            throw .invalidArgument(
                field: "response." + field,
                reason: "A value must be 1 to 1,024 visible ASCII characters, with spaces only inside."
            )
        }
        return text
    }

    private static func mediaType(_ text: String?) throws(GatewayError) -> MediaType? {
        guard let text else { return nil }
        guard let type = MediaType(text) else {
            throw .invalidArgument(
                field: "response.contentType", reason: "The content type must have the form 'type/subtype; name=value'."
            )
        }
        return type
    }

    /// Everything before the first `;`. A browser shows the object if this is another word than `attachment`, also one
    /// that begins like it.
    private static func dispositionType(_ text: String) -> [UInt8] {
        var type = text.utf8.prefix { $0 != UInt8(ascii: ";") }
        while type.last == UInt8(ascii: " ") { type.removeLast() }
        return type.map(\.lowercased)
    }

    private static func isDisposition(_ text: String) -> Bool {
        let type = dispositionType(text)
        return type.elementsEqual("inline".utf8) || type.elementsEqual("attachment".utf8)
    }
}
