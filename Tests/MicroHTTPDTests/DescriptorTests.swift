import Glibc
import Logging
import Testing

@testable import MicroHTTPD

/// How many clients a server has room for, where few files may be open.
@Suite struct DescriptorTests {
    @Test func `clients leave the descriptors alone that the rest of the process needs`() {
        let limit = DescriptorLimit.raise()
        for room in [0, 1, 300, 20_000] {
            var configuration = HTTPServerConfiguration()
            configuration.reservedDescriptors = limit - room
            let core = ServerCore(
                configuration: configuration, responder: TestResponder.echo,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            #expect(core.clientLimit == min(room, configuration.maxConnections))
            for (place, descriptor) in [room - 1, room, room + 1].enumerated() where descriptor >= 0 {
                // Each from an address of its own.
                let key = SocketAddress.Key(family: AF_INET, bits: UInt64(place))
                #expect(core.admit(key, socket: Int32(descriptor)) == (descriptor < room), "\(descriptor) of \(room)")
            }
        }
    }

    @Test func `a server without room for clients is not made`() throws {
        let limit = DescriptorLimit.raise()
        for room in [-1, 0, 1, 127, 128, 129] {
            var configuration = HTTPServerConfiguration()
            configuration.reservedDescriptors = limit - room
            let error = HTTPServerError.tooFewDescriptors(limit: limit, needed: limit - room + 128)
            func make() throws(HTTPServerError) { try TestServer.make(.echo) { $0 = configuration } }
            if room < 128 {
                #expect(throws: error) { try make() }
                #expect(throws: error) { try HTTPServer.checkDescriptors(reserving: limit - room) }
            } else {
                try make()
                try HTTPServer.checkDescriptors(reserving: limit - room)
            }
        }
    }
}
