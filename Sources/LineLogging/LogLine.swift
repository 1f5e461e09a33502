import FoundationEssentials
import GatewayCore
import Bytes
import Logging
import StrictJSON

/// Appends one line to the log: its beginning, its fields in the order of their names, and its end.
///
/// Control characters are escaped, so that text from a client cannot look like a separate line. In lines of text, so is
/// whatever else a terminal obeys.
struct LogLine {
    private let format: LogFormat
    private let level: Logger.Level
    private let label: String
    private let source: String
    private let message: String
    private let time: LogTime
    /// For JSON: the index in ``ownMembers`` of the next member, and whether the line already has a member.
    private var nextMember = 0
    private var hasMember = false

    /// Begins a line.
    init(
        _ format: LogFormat, level: Logger.Level, label: String, source: String, message: String, at time: LogTime,
        in output: inout OutputSpan<UInt8>
    ) {
        self.format = format
        self.level = level
        self.label = label
        self.source = source
        self.message = message
        self.time = time
        switch format {
        case .json: output.append(UInt8(ascii: "{"))
        case .text:
            output.append(copying: time.second)
            output.append(copying: "Z ")
            output.append(copying: level.rawValue)
            output.append(UInt8(ascii: " "))
            output.append(copying: label)
            output.append(UInt8(ascii: ":"))
        }
    }

    /// Returns the capacity for a line with `fields` fields whose texts have `bytes` bytes in total, even if every byte
    /// is escaped.
    static func room(fields: Int, bytes: Int) -> Int {
        128 + 8 * fields + 6 * bytes
    }

    /// Adds a field.
    mutating func field(_ name: String, _ text: String, in output: inout OutputSpan<UInt8>) {
        switch format {
        case .text:
            output.append(UInt8(ascii: " "))
            Self.append(name, to: &output)
            output.append(UInt8(ascii: "="))
            Self.append(value: text, to: &output)
        case .json:
            guard begin(member: name, in: &output) else { return }
            output.append(quoted: text)
        }
    }

    /// Adds a field.
    mutating func field(_ name: String, _ value: LogValue, in output: inout OutputSpan<UInt8>) {
        guard format == .json, value.isJSON else { return field(name, value.text, in: &output) }
        guard begin(member: name, in: &output) else { return }
        output.append(copying: value.text)
    }

    /// Adds a field that is an address.
    mutating func field(_ name: StaticString, _ address: IPAddress, in output: inout OutputSpan<UInt8>) {
        switch format {
        case .text:
            output.append(UInt8(ascii: " "))
            output.append(copying: name)
            output.append(UInt8(ascii: "="))
            address.append(to: &output)
        case .json:
            guard begin(member: name.description, in: &output) else { return }
            output.append(UInt8(ascii: "\""))
            address.append(to: &output)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Adds a field that needs no escaping: a word, identifier or template of the program.
    mutating func field(_ name: StaticString, verbatim text: String, in output: inout OutputSpan<UInt8>) {
        guard format == .text else { return field(name.description, text, in: &output) }
        output.append(UInt8(ascii: " "))
        output.append(copying: name)
        output.append(UInt8(ascii: "="))
        output.append(copying: text)
    }

    /// Adds a field that is a number.
    mutating func field(_ name: StaticString, _ number: Int64, in output: inout OutputSpan<UInt8>) {
        guard format == .text else {
            if begin(member: name.description, in: &output) { output.append(decimal: number) }
            return
        }
        output.append(UInt8(ascii: " "))
        output.append(copying: name)
        output.append(UInt8(ascii: "="))
        output.append(decimal: number)
    }

    /// Ends the line.
    mutating func end(in output: inout OutputSpan<UInt8>) {
        switch format {
        case .text:
            output.append(copying: " [")
            output.append(copying: source)
            output.append(copying: "] ")
            Self.append(message, to: &output)
        case .json:
            writeOwnMembers(before: nil, to: &output)
            output.append(UInt8(ascii: "}"))
        }
        output.append(UInt8(ascii: "\n"))
    }

    /// Appends the value of a field, in quotes where it could be read in two ways.
    private static func append(value: String, to output: inout OutputSpan<UInt8>) {
        let isPlain = value.utf8.allSatisfy { byte in
            byte > 0x20 && byte != 0x7f && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
                && byte != UInt8(ascii: "=")
        }
        if isPlain, !value.isEmpty, !isObeyed(value) {
            output.append(copying: value)
        } else {
            output.append(quoted: value, escaping: .terminal)
        }
    }

    private static func append(_ text: String, to output: inout OutputSpan<UInt8>) {
        guard !text.isFree(ofControlsAnd: 0x7f, 0x7f) || isObeyed(text) else { return output.append(copying: text) }
        for scalar in text.unicodeScalars {
            if scalar.isObeyedByTerminals {
                output.append(copying: scalar.escaped(asASCII: true))
            } else {
                output.append(copying: String(scalar))
            }
        }
    }

    /// Whether a terminal obeys some character of a text instead of showing it.
    private static func isObeyed(_ text: String) -> Bool {
        !text.utf8Span.isKnownASCII && text.unicodeScalars.contains(where: \.isObeyedByTerminals)
    }
}

// MARK: Lines of JSON

extension LogLine {
    /// The members of every line. They are sorted among the fields by name.
    private static let ownMembers = ["level", "logger", "message", "source", "time"]

    private mutating func writeOwnMembers(before name: String?, to output: inout OutputSpan<UInt8>) {
        while nextMember < Self.ownMembers.count, name.map({ Self.ownMembers[nextMember] < $0 }) ?? true {
            let own = Self.ownMembers[nextMember]
            let text =
                switch own {
                case "level": level.rawValue
                case "logger": label
                case "message": message
                case "source": source
                default: time.text
                }
            write(member: own, in: &output)
            output.append(quoted: text)
            nextMember += 1
        }
    }

    /// Writes the name of a field; returns `false` if the line has a member of its own by that name, which takes
    /// precedence.
    private mutating func begin(member name: String, in output: inout OutputSpan<UInt8>) -> Bool {
        writeOwnMembers(before: name, to: &output)
        guard nextMember >= Self.ownMembers.count || Self.ownMembers[nextMember] != name else { return false }
        write(member: name, in: &output)
        return true
    }

    private mutating func write(member name: String, in output: inout OutputSpan<UInt8>) {
        if hasMember { output.append(UInt8(ascii: ",")) }
        hasMember = true
        output.append(quoted: name)
        output.append(UInt8(ascii: ":"))
    }
}
