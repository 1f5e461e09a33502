// For apps that use Alibaba's SDK for iOS (`AliyunOSSiOS`, version 2) beside SluiceClient. Copy this file into the app:
// it is no part of the package, which does without the SDK. This project's checks parse it, and the app compiles it.

import AliyunOSSiOS
import Foundation
import SluiceClient

/// Temporary credentials of the gateway. The SDK asks again before they end.
///
/// - Parameter prefix: what the app may use of the bucket; empty for all of it.
func sluiceCredentialProvider(_ client: Sluice, bucket: String, prefix: String) -> OSSFederationCredentialProvider {
    OSSFederationCredentialProvider { () -> OSSFederationToken? in
        guard let found = try? waiting({ try await client.ossCredentials(bucket: bucket, prefix: prefix) }) else {
            return nil
        }
        let token = OSSFederationToken()
        token.tAccessKey = found.accessKeyID
        token.tSecretKey = found.accessKeySecret
        token.tToken = found.securityToken
        token.expirationTimeInGMTFormat = ISO8601DateFormatter().string(from: found.expiration)
        return token
    }
}

/// Self-signed mode: each request is signed by the gateway, with version 1. The SDK takes custom signers for no other.
/// After a refusal it sends the request without a signature, so keep buckets private.
func sluiceSigningProvider(_ client: Sluice) -> OSSCustomSignerCredentialProvider? {
    OSSCustomSignerCredentialProvider { content, error in
        do {
            return try waiting { try await client.ossSignature(of: content).authorization }
        } catch let refusal {
            error?.pointee = refusal as NSError
            return nil
        }
    }
}

/// The SDK calls on a thread of its own, and wants the result there.
private func waiting<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let box = ResultBox<Value>()
    Task {
        do { box.result = .success(try await work()) } catch { box.result = .failure(error) }
        done.signal()
    }
    done.wait()
    return try box.result.get()
}

/// - Invariant: written before the semaphore is signalled, and read after it.
private final class ResultBox<Value: Sendable>: @unchecked Sendable {
    var result: Result<Value, any Error> = .failure(CancellationError())
}
