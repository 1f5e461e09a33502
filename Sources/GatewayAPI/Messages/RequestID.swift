/// The identifier of a request.
enum RequestID {
    /// Whether a text may be the identifier of a request: 8 to 64 characters that are safe in logs and paths.
    static func isValid(_ text: String) -> Bool {
        8...64 ~= text.utf8.count
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
