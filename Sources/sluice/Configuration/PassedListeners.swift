import Systemd

/// The sockets that systemd opened for the listeners, in place of the addresses in the settings.
struct PassedListeners: Sendable {
    /// The socket of the API; `nil` if none was passed.
    var api: Int32?
    /// The socket of the admin listener; `nil` if none was passed.
    var admin: Int32?

    /// Whether no socket was passed.
    var isEmpty: Bool { api == nil && admin == nil }

    init() {}

    /// Recognises sockets by their names.
    ///
    /// - Throws: ``SettingMistakes`` if a socket has another name, or two have the same.
    init(_ sockets: [PassedSocket]) throws {
        var mistakes: [String] = []
        for socket in sockets {
            switch socket.name {
            case "api" where api == nil: api = socket.descriptor
            case "admin" where admin == nil: admin = socket.descriptor
            case "api", "admin":
                mistakes.append("two sockets named '\(socket.name)' were passed; a listener has one")
            default:
                mistakes.append(
                    "a socket named '\(socket.name)' was passed; 'FileDescriptorName=' must be api or admin")
            }
        }
        guard mistakes.isEmpty else { throw SettingMistakes(mistakes: mistakes) }
    }
}
