import Foundation
public import Logging
import Signing

extension EmbeddedStore {
    /// The store of the demo, with its bucket.
    ///
    /// - Throws: What the file system refuses with.
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
