import GatewayCore
import StrictJSON

/// Reads the members of an object one by one, by name and type. At the end it refuses members that were not read.
struct JSONObject {
    private let path: String
    private var members: JSONMembers

    /// Opens a text that is one object.
    init(_ text: JSONText) throws(GatewayError) {
        try self.init(text.root)
    }

    /// Opens an object.
    init(_ value: JSONValue, at path: String = "") throws(GatewayError) {
        try self.init(.tree(value), at: path)
    }

    /// Opens an object. In errors, `path` is the name of the object; it is empty for the whole body.
    init(_ node: JSONNode, at path: String = "") throws(GatewayError) {
        guard let members = JSONMembers(node) else {
            throw .invalidArgument(
                field: path.isEmpty ? "body" : path, reason: "The value must be an object, not \(node.value.kind).")
        }
        self.path = path
        self.members = members
    }

    /// The name of a member in errors, for example `response.contentType`.
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
        guard let text = node.string else { throw mismatch(name, "a string", node.value) }
        return text
    }

    /// Takes a boolean.
    mutating func bool(_ name: String) throws(GatewayError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .bool(let flag) = value else { throw mismatch(name, "a boolean", value) }
        return flag
    }

    /// Takes a 64-bit integer; `1.0` and `1e3` are refused.
    mutating func integer(_ name: String) throws(GatewayError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .number(let digits) = value else { throw mismatch(name, "an integer", value) }
        guard let number = Int64(digits) else {
            throw invalid(name, "The value must be a 64-bit integer without a fraction or exponent.")
        }
        return number
    }

    /// Takes an array of at most `count` strings.
    mutating func strings(_ name: String, atMost count: Int = 100) throws(GatewayError) -> [String]? {
        guard let node = members.take(name) else { return nil }
        guard let items = node.items else { throw mismatch(name, "an array of strings", node.value) }
        guard items.count <= count else { throw invalid(name, "At most \(count) items are allowed.") }
        var texts: [String] = []
        for (index, item) in items.enumerated() {
            guard let text = item.string else { throw mismatch("\(name)[\(index)]", "a string", item.value) }
            texts.append(text)
        }
        return texts
    }

    /// Takes an array of at most `count` items of any type.
    mutating func values(_ name: String, atMost count: Int) throws(GatewayError) -> [JSONNode]? {
        guard let node = members.take(name) else { return nil }
        guard let items = node.items else { throw mismatch(name, "an array", node.value) }
        guard items.count <= count else { throw invalid(name, "At most \(count) items are allowed.") }
        return items
    }

    /// Takes a nested object.
    mutating func object(_ name: String) throws(GatewayError) -> JSONObject? {
        guard let node = members.take(name) else { return nil }
        return try JSONObject(node, at: self.name(of: name))
    }

    /// Takes an object whose members are all strings, under names that the client chooses.
    mutating func dictionary(_ name: String, atMost count: Int) throws(GatewayError) -> [String: String]? {
        guard let inner = try object(name) else { return nil }
        guard inner.members.count <= count else { throw invalid(name, "At most \(count) members are allowed.") }
        var pairs: [String: String] = [:]
        for member in inner.members.all {
            guard case .string(let text) = member.value else {
                throw inner.mismatch(member.name, "a string", member.value)
            }
            pairs[member.name] = text
        }
        return pairs
    }

    /// Takes a string and parses it. What the parser refuses is named after the member.
    mutating func parsed<Value>(
        _ name: String, _ parse: (String) throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value? {
        guard let text = try string(name) else { return nil }
        return try naming(name) { () throws(GatewayError) in try parse(text) }
    }

    /// Takes an array of at most `count` strings and parses each.
    mutating func parsedItems<Value>(
        _ name: String, atMost count: Int = 100, _ parse: (String) throws(GatewayError) -> Value
    ) throws(GatewayError) -> [Value]? {
        guard let texts = try strings(name, atMost: count) else { return nil }
        var values: [Value] = []
        for (index, text) in texts.enumerated() {
            values.append(try naming("\(name)[\(index)]") { () throws(GatewayError) in try parse(text) })
        }
        return values
    }

    /// Returns the value of a member; throws where it is `nil`.
    func required<Value>(_ name: String, _ value: Value?) throws(GatewayError) -> Value {
        guard let value else { throw .missing(self.name(of: name)) }
        return value
    }

    /// Ends the object; refuses by name any member that was not taken.
    func end() throws(GatewayError) {
        guard let unknown = members.firstLeft else { return }
        throw invalid(unknown, "'\(name(of: unknown))' does not exist here.")
    }

    /// Reads the value of a member. An argument that `read` refuses is named after the member.
    func naming<Value>(
        _ name: @autoclosure () -> String, _ read: () throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value {
        try GatewayError.naming(self.name(of: name()), read)
    }

    /// Makes something of the members that were taken. An argument that `make` refuses is a member of this object.
    func within<Value>(_ make: () throws(GatewayError) -> Value) throws(GatewayError) -> Value {
        do throws(GatewayError) {
            return try make()
        } catch .invalidArgument(let member, let reason) {
            throw invalid(member, reason)
        }
    }

    /// Makes the error for a member.
    func invalid(_ name: String, _ reason: String) -> GatewayError {
        .invalidArgument(field: self.name(of: name), reason: reason)
    }

    private func mismatch(_ name: String, _ expected: String, _ value: JSONValue) -> GatewayError {
        invalid(name, "The value must be \(expected), not \(value.kind).")
    }

    /// Shortens a name that the client chose, as the answer repeats it.
    private static func shortened(_ name: String) -> String {
        name.count <= 64 ? name : name.prefix(64) + "…"
    }
}
