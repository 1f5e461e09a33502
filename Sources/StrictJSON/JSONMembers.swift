import Bytes

/// The members of an object. Each one can be taken once, by its name, which is compared as bytes.
public struct JSONMembers: Sendable {
    /// Number of members, including those already taken.
    public let count: Int
    private let node: JSONNode
    /// The first member that has not been taken, and its place if the object is part of a text. Most are taken in the
    /// order sent.
    private var first: (index: Int, place: Int)
    /// The members already taken: one bit for each of the first 64, and a set for the rest.
    private var taken: UInt64 = 0
    private var takenBeyond: Set<Int> = []
    private var takenCount = 0

    /// Opens an object; `nil` if the value is of another kind.
    public init?(_ node: JSONNode) {
        self.node = node
        switch node {
        case .text(let text, let place) where text.kind(at: place) == .object:
            count = text.memberCount(at: place)
            first = (0, place + 1)
        case .tree(.object(let members)):
            count = members.count
            first = (0, 0)
        default:
            return nil
        }
    }

    /// All members, in the order sent.
    public var all: [JSONValue.Member] {
        guard case .object(let members) = node.value else { return [] }
        return members
    }

    /// Name of the first member that has not been taken.
    public var firstLeft: String? {
        guard takenCount < count else { return nil }
        let members = all
        return members.indices.first { !isTaken($0) }.map { members[$0].name }
    }

    /// Takes a member; `nil` if it is absent, null or already taken.
    public mutating func take(_ name: String) -> JSONNode? {
        guard takenCount < count else { return nil }
        switch node {
        case .text(let text, _):
            guard let place = takePlace(of: name, in: text), text.kind(at: place) != .null else { return nil }
            return .text(text, place)
        case .tree(.object(let members)):
            guard let value = takeMember(name, of: members), value != .null else { return nil }
            return .tree(value)
        case .tree: return nil
        }
    }

    private mutating func takePlace(of name: String, in text: JSONText) -> Int? {
        var (index, place) = first
        while index < count {
            if !isTaken(index), text.isName(name, at: place) {
                setTaken(index)
                while first.index < count, isTaken(first.index) {
                    first = (first.index + 1, text.next(after: first.place + 1))
                }
                return place + 1
            }
            index += 1
            place = text.next(after: place + 1)
        }
        return nil
    }

    private mutating func takeMember(_ name: String, of members: [JSONValue.Member]) -> JSONValue? {
        let index = members.indices.first { !isTaken($0) && members[$0].name.isSameBytes(as: name) }
        guard let index else { return nil }
        setTaken(index)
        return members[index].value
    }

    private func isTaken(_ index: Int) -> Bool {
        index < 64 ? taken >> UInt64(index) & 1 == 1 : takenBeyond.contains(index)
    }

    private mutating func setTaken(_ index: Int) {
        takenCount += 1
        if index < 64 { taken |= 1 << UInt64(index) } else { takenBeyond.insert(index) }
    }
}
