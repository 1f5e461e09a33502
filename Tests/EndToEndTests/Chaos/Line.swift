import ContractTesting
import HTTPTesting
import Testing

/// The connection of one client to one gateway. Its calls block.
final class Line {
    private var connection: RawConnection?
    private var life: Int?
    private var port: UInt16 = 0

    /// Sends a request; ``receive(_:)`` returns the answer.
    func send(_ request: RawRequest, to door: World.Door) throws {
        if connection == nil || life != door.life {
            connection = nil
            connection = try RawConnection(port: door.port)
            (life, port) = (door.life, door.port)
        }
        do { try connection?.send(request.bytes) } catch {
            connection = nil
            throw error
        }
    }

    /// Reads the answer to a request. Checks the first few answers of each kind against the contract.
    func receive(_ request: RawRequest) throws -> RawResponse {
        do {
            guard let answer = try connection?.response(toHead: false) else { throw RawHTTPError.closedEarly }
            if answer["Connection"]?.lowercased() == "close" { connection = nil }
            Deployment.keepSecrets(of: answer, from: port)
            expectContractKept(request.exchange(answer), atMost: 20)
            return answer
        } catch {
            connection = nil
            throw error
        }
    }
}
