import Bytes
import LibCurl
import StrictXML

/// The code by which a store says what is wrong.
enum StoreErrorCode {
    /// Reads the code from an answer; `nil` for anything but a plain word.
    static func read(_ answer: HTTPTransfer.Answer) -> String? {
        guard let root = XMLElement.read(answer.body), root.name == "Error", let code = root.text("Code"),
            code.consists(of: .alphanumeric.union("."), count: 1...64)
        else { return nil }
        return code
    }
}
