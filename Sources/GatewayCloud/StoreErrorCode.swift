import LibCurl

/// The code by which a store says what is wrong.
enum StoreErrorCode {
    /// Reads the code from an answer; `nil` for anything but a plain word.
    static func read(_ answer: HTTPTransfer.Answer) -> String? {
        guard let root = XMLElement.read(answer.body), root.name == "Error", let code = root.text("Code"),
            1...64 ~= code.utf8.count,
            code.utf8.allSatisfy({ 0x41...0x5a ~= $0 || 0x61...0x7a ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x2e })
        else { return nil }
        return code
    }
}
