import Foundation
import Testing

/// Ceph with its security token service. CONTRIBUTING.md says how to start it.
struct CephSTS {
    let deployment: Deployment
    let bucket: String
    /// The port that offers the token service, to which requests with a session token go.
    let endpoint: String

    static func value(_ name: String) -> String? { ProcessInfo.processInfo.environment["SLUICE_TEST_" + name] }

    /// Whether the store runs, or is required to.
    static var isExpected: Bool { value("RADOSGW_STS_ENDPOINT") != nil || Surroundings.areRequired }

    /// Runs a body with a gateway and a bucket there, whose credential has a role.
    ///
    /// - Parameter protocols: The protocols that the bucket opens.
    static func with(
        protocols: [String] = [], _ body: @Sendable (CephSTS) async throws -> Void
    ) async throws {
        func value(_ name: String) throws -> String { try #require(Self.value("RADOSGW_" + name), "\(name)") }
        let (sts, region) = (try value("STS_ENDPOINT"), try value("REGION"))
        try await Deployment.with(settings: ["SLUICE_OUTBOUND_ALLOW": sts]) { deployment in
            let secret = try value("SECRET_KEY")
            deployment.keepSecret(secret)
            let credential = try await deployment.create(
                "storage-credentials",
                [
                    "name": "ceph", "accessKeyID": "\(try value("ACCESS_KEY"))", "secretAccessKey": "\(secret)",
                    "sessionRole": [
                        "roleARN": "\(try value("ROLE"))", "service": "aws", "endpoint": "\(sts)",
                        "region": "\(region)",
                    ],
                ])
            let bucket = try value("BUCKET")
            try await deployment.create(
                "buckets",
                [
                    "name": "\(bucket)", "endpoint": "\(sts)", "region": "\(region)", "addressing": "path",
                    "credentialID": credential["id"], "protocols": .array(protocols.map { .string($0) }),
                ])
            try await body(CephSTS(deployment: deployment, bucket: bucket, endpoint: sts))
        }
    }
}
