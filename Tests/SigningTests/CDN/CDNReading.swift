import Foundation

/// A content delivery network that reads a link as its documentation says, and shares no code with the signers. It
/// takes whatever could be meant: numbers of any length, and an instant of any age.
enum CDNReading {
    /// What a link leads to.
    struct Meaning: Equatable {
        let path: String
        let end: Int
    }

    private static func md5(_ text: String) -> [UInt8] { PlainMD5.digest(of: Array(text.utf8)) }
    private static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    /// Reads a link of one of Alibaba's types; `nil` if its hash is not the path's.
    static func alibaba(_ form: Character, _ url: String, secret: String, validity: Int) -> Meaning? {
        let target = url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }
        if form == "A" {
            let sides = target.components(separatedBy: "?auth_key=")
            let fields = sides.count == 2 ? sides[1].components(separatedBy: "-") : []
            guard fields.count == 4, let instant = Int(fields[0]),
                hex(md5("\(sides[0])-\(fields[0])-\(fields[1])-\(fields[2])-\(secret)")) == fields[3]
            else { return nil }
            return Meaning(path: sides[0], end: instant + validity)
        }
        let parts = target.split(separator: "/", maxSplits: 2).map(String.init)
        guard parts.count == 3 else { return nil }
        let path = "/" + parts[2]
        if form == "B" {
            guard hex(md5("\(secret)\(parts[0])\(path)")) == parts[1], let instant = chinaMinute(parts[0]) else {
                return nil
            }
            return Meaning(path: path, end: instant + validity)
        }
        guard hex(md5("\(secret)\(path)\(parts[1])")) == parts[0], let instant = Int(parts[1], radix: 16) else {
            return nil
        }
        return Meaning(path: path, end: instant + validity)
    }

    private static func chinaMinute(_ text: String) -> Int? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 8 * 3600)
        format.dateFormat = "yyyyMMddHHmm"
        return format.date(from: text).map { Int($0.timeIntervalSince1970) }
    }

    /// Reads a link as nginx does; `nil` if its hash is not the path's.
    static func nginx(_ url: String, secret: String) -> Meaning? {
        guard let parts = URLComponents(string: url),
            let hash = parts.queryItems?.first(where: { $0.name == "md5" })?.value,
            let text = parts.queryItems?.first(where: { $0.name == "expires" })?.value, let expires = Int(text)
        else { return nil }
        let digest = Data(md5("\(text)\(parts.path) \(secret)")).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return digest == hash ? Meaning(path: parts.path, end: expires) : nil
    }
}

/// MD5 (RFC 1321), written for reading.
enum PlainMD5 {
    private static let shifts = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]

    static func digest(of message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        let bits = UInt64(message.count) * 8
        for place in 0..<8 { padded.append(UInt8(truncatingIfNeeded: bits >> UInt64(8 * place))) }
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        for start in stride(from: 0, to: padded.count, by: 64) {
            let words = (0..<16).map { word in
                (0..<4).reduce(UInt32(0)) { $0 | UInt32(padded[start + 4 * word + $1]) << UInt32(8 * $1) }
            }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            for step in 0..<64 {
                let (mixed, word): (UInt32, Int) =
                    switch step / 16 {
                    case 0: (b & c | ~b & d, step)
                    case 1: (d & b | ~d & c, (5 * step + 1) % 16)
                    case 2: (b ^ c ^ d, (3 * step + 5) % 16)
                    default: (c ^ (b | ~d), 7 * step % 16)
                    }
                let constant = UInt32(abs(sin(Double(step + 1))) * 4_294_967_296)
                let sum = a &+ mixed &+ constant &+ words[word]
                let shift = UInt32(shifts[step / 16][step % 4])
                (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
            }
            state = [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d]
        }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) } }
    }
}
