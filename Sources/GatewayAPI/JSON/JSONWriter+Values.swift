import FoundationEssentials
import GatewayCore
import StrictJSON

extension JSONWriter {
    /// Writes a member that is an identifier, in lower case.
    mutating func member(_ name: StaticString, _ id: UUID) {
        member(name, room: UUID.textByteCount + 2) { output in
            output.append(UInt8(ascii: "\""))
            id.appendLowercaseText(to: &output)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a member that is an instant, in UTC; writes nothing for `nil`.
    mutating func member(_ name: StaticString, _ instant: Date?) {
        guard let instant else { return }
        member(name, room: Timestamp.room + 2) { output in
            output.append(UInt8(ascii: "\""))
            Timestamp.append(instant, to: &output)
            output.append(UInt8(ascii: "\""))
        }
    }
}
