import Foundation
public import Logging
import Signing

extension EmbeddedStore {
    /// Opens the store of the demo and creates its bucket.
    ///
    /// - Throws: Errors of the file system.
    public static func demo(
        in directory: DataDirectory, keys: DemoKeys, logger: Logger
    ) throws -> EmbeddedStore {
        let store = try EmbeddedStore(
            EmbeddedStore.Configuration(
                credential: SigningCredential(
                    accessKeyID: keys.storeAccessKeyID, secretAccessKey: keys.storeSecretAccessKey),
                region: DemoWorld.region, directory: directory.objects),
            logger: logger
        ) {
            SigningInstant(clampingEpochSeconds: Int64(Date.now.timeIntervalSince1970))
        }
        try store.makeBucket(DemoWorld.bucket)
        return store
    }
}
