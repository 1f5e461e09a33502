import Foundation
import GatewayCore
import TestSupport

/// Rows of one bucket, `photos`, with its credential and a grant of everything in it to everybody.
struct StoreRows: KeyedPolicy {
    static let position = PolicyPosition(sequence: 1, tag: UUID())
    static let credentialID = UUID()

    let endpoint: String
    var provider = Bucket.Provider.s3
    var scheme = Bucket.Scheme.awsV4
    var region = "eu-west-1"
    var addressing = Bucket.Addressing.path
    var sessionToken: String?
    var hasBucket = true
    /// Whether a master key opens the credential.
    var opensCredential = true

    var position: PolicyPosition { Self.position }

    func bucket(_ name: BucketName) -> Bucket {
        Bucket(
            name: name, provider: provider, endpoint: endpoint, region: region, addressing: addressing,
            scheme: scheme, credentialID: Self.credentialID, createdAt: .distantPast)
    }

    var credential: StorageCredential {
        StorageCredential(
            id: Self.credentialID, name: "main", accessKeyID: "FAKEID0123456789",
            secretAccessKey: Secret("fake/secret+0123456789"), sessionToken: sessionToken.map { Secret($0) },
            createdAt: .distantPast)
    }

    private func rows(of principal: Principal) throws(GatewayError) -> PrincipalRows {
        guard principal.rawValue == "*" else { return PrincipalRows() }
        let grant = Grant(
            id: UUID(), principal: principal, bucket: try BucketName("photos"), prefix: try KeyPrefix(literal: ""),
            actions: [.putObject, .getObject], effect: .allow, conditions: GrantConditions(), createdBy: "user:admin",
            createdAt: .distantPast)
        return PrincipalRows(grants: [grant])
    }

    func load(
        _ keys: [PolicyKey], literalGrantLimit: Int
    ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        var rows: [PolicyRows] = []
        for key in keys {
            switch key {
            case .bucket(let name): rows.append(.bucket(hasBucket && name.rawValue == "photos" ? bucket(name) : nil))
            case .credential(let id):
                rows.append(.credential(opensCredential && id == Self.credentialID ? credential : nil))
            case .principal(let principal): rows.append(.principal(try self.rows(of: principal)))
            case .issuer: rows.append(.issuer(nil))
            case .apiKey: rows.append(.apiKey(nil))
            case .ticket: rows.append(.ticket(nil))
            }
        }
        return PolicyLoad(position: Self.position, rows: rows)
    }

    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        .restart(at: Self.position)
    }
}
