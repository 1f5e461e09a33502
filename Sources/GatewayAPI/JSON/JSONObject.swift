import GatewayCore
import StrictJSON

/// Takes the members of an object one by one, by name and type, and at the end refuses those that nobody took.
struct JSONObject {
    private let path: String
    private var members: JSONMembers

    /// Opens the object that a text is.
    init(_ text: JSONText) throws(GatewayError) {
        try self.init(text.root)
    }

    /// Opens an object by itself.
    init(_ value: JSONValue, at path: String = "") throws(GatewayError) {
        try self.init(.tree(value), at: path)
    }

    /// Opens an object; `path` is its own name in errors, empty for the whole body.
    init(_ node: JSONNode, at path: String = "") throws(GatewayError) {
        guard let members = JSONMembers(node) else {
            throw .invalidArgument(
                field: path.isEmpty ? "body" : path, reason: "The value must be an object, not \(node.value.kind).")
        }
        self.path = path
        self.members = members
    }

    /// The name of a member as errors have it, for example `response.contentType`.
    func name(of member: String) -> String {
        path.isEmpty ? Self.shortened(member) : path + "." + Self.shortened(member)
    }

    /// Takes a member; `nil` where it is absent or null.
    mutating func value(_ name: String) -> JSONValue? {
        members.take(name)?.value
    }

    /// Takes a string.
    mutating func string(_ name: String) throws(GatewayError) -> String? {
        guard let node = members.take(name) else { return nil }
        guard let text = node.string else { throw mismatch(name, "A string", node.value) }
        return text
    }

    /// Takes a boolean.
    mutating func bool(_ name: String) throws(GatewayError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .bool(let flag) = value else { throw mismatch(name, "A boolean", value) }
        return flag
    }

    /// Takes an integer of 64 bits; `1.0` and `1e3` are none here.
    mutating func integer(_ name: String) throws(GatewayError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .number(let digits) = value else { throw mismatch(name, "An integer", value) }
        guard let number = Int64(digits) else {
            throw invalid(name, "The value must be a 64-bit integer without a fraction or exponent.")
        }
        return number
    }

    /// Takes an array of strings of at most so many.
    mutating func strings(_ name: String, atMost count: Int = 100) throws(GatewayError) -> [String]? {
        guard let node = members.take(name) else { return nil }
        guard let items = node.items else { throw mismatch(name, "An array of strings", node.value) }
        guard items.count <= count else { throw invalid(name, "At most \(count) items are allowed.") }
        var texts: [String] = []
        for (index, item) in items.enumerated() {
            guard let text = item.string else { throw mismatch("\(name)[\(index)]", "A string", item.value) }
            texts.append(text)
        }
        return texts
    }

    /// Takes an array of anything, of at most so many items.
    mutating func values(_ name: String, atMost count: Int) throws(GatewayError) -> [JSONNode]? {
        guard let node = members.take(name) else { return nil }
        guard let items = node.items else { throw mismatch(name, "An array", node.value) }
        guard items.count <= count else { throw invalid(name, "At most \(count) items are allowed.") }
        return items
    }

    /// Takes an object within.
    mutating func object(_ name: String) throws(GatewayError) -> JSONObject? {
        guard let node = members.take(name) else { return nil }
        return try JSONObject(node, at: self.name(of: name))
    }

    /// Takes an object whose members are all strings, under names of the caller's choice.
    mutating func dictionary(_ name: String, atMost count: Int) throws(GatewayError) -> [String: String]? {
        guard let inner = try object(name) else { return nil }
        guard inner.members.count <= count else { throw invalid(name, "At most \(count) members are allowed.") }
        var pairs: [String: String] = [:]
        for member in inner.members.all {
            guard case .string(let text) = member.value else {
                throw inner.mismatch(member.name, "A string", member.value)
            }
            pairs[member.name] = text
        }
        return pairs
    }

    /// Takes a string and reads it as a value that names itself wrongly in
    /// its errors: the member's own name is put there.
    mutating func parsed<Value>(
        _ name: String, _ parse: (String) throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value? {
        guard let text = try string(name) else { return nil }
        do {
            return try parse(text)
        } catch .invalidArgument(_, let reason) {
            throw invalid(name, reason)
        }
    }

    /// Insists on a member.
    func required<Value>(_ name: String, _ value: Value?) throws(GatewayError) -> Value {
        guard let value else { throw invalid(name, "The member is required.") }
        return value
    }

    /// Ends the object: whatever was not taken is refused by name.
    func end() throws(GatewayError) {
        if let unknown = members.firstLeft { throw invalid(unknown, "The member does not exist.") }
    }

    /// The error for a member.
    func invalid(_ name: String, _ reason: String) -> GatewayError {
        .invalidArgument(field: self.name(of: name), reason: reason)
    }

    private func mismatch(_ name: String, _ expected: String, _ value: JSONValue) -> GatewayError {
        invalid(name, "\(expected) is expected, not \(value.kind).")
    }

    /// A name chosen by the client comes back in the answer, but not at any length.
    private static func shortened(_ name: String) -> String {
        name.count <= 64 ? name : name.prefix(64) + "…"
    }
}
