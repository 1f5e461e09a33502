/// A value of a YAML document that JSON could express too. Members keep their order.
public indirect enum YAMLValue: Sendable, Equatable {
    /// Nothing.
    case null
    /// A truth value.
    case bool(Bool)
    /// A whole number.
    case integer(Int)
    /// Any other number.
    case number(Double)
    /// A text.
    case string(String)
    /// Values in order.
    case sequence([YAMLValue])
    /// Named values in order. The names are distinct.
    case mapping([Member])

    /// A named value.
    public struct Member: Sendable, Equatable {
        /// The name, as it is written.
        public let name: String
        /// The value.
        public let value: YAMLValue

        /// Names a value.
        public init(_ name: String, _ value: YAMLValue) {
            self.name = name
            self.value = value
        }
    }

    /// Takes a plain scalar for what it is in the core schema of YAML 1.2, except that octal and hexadecimal numbers,
    /// infinities and `.nan` are texts: JSON has none of them.
    init(plain text: String) {
        switch text {
        case "", "~", "null", "Null", "NULL": self = .null
        case "true", "True", "TRUE": self = .bool(true)
        case "false", "False", "FALSE": self = .bool(false)
        default:
            if let number = Int(text) {
                self = .integer(number)
            } else if text.utf8.allSatisfy(Self.digitsAndMarks.contains), let number = Double(text), number.isFinite {
                self = .number(number)
            } else {
                self = .string(text)
            }
        }
    }

    /// What numbers are made of. Swift would read `infinity`, `nan` and `0x1p3` as well.
    private static let digitsAndMarks = Set("0123456789+-.eE".utf8)
}

/// The reason why a text is not accepted as a YAML document.
public struct YAMLFlaw: Error, Sendable, Equatable, CustomStringConvertible {
    /// A description without a final period.
    public let reason: String
    /// The line on which the flaw was found, counted from 1.
    public let line: Int

    /// The description, with the line.
    public var description: String { "\(reason), on line \(line)" }
}
