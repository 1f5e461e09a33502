import FoundationEssentials
public import Logging
import Signing

extension EmbeddedStore {
    /// Opens the store of the demo and creates its buckets.
    ///
    /// - Parameter outlet: Where the store reports what arrives.
    /// - Throws: Errors of the file system.
    public static func demo(
        in directory: DataDirectory, keys: DemoKeys, outlet: StoreOutlet, logger: Logger
    ) throws -> EmbeddedStore {
        let store = try EmbeddedStore(
            EmbeddedStore.Configuration(
                credential: SigningCredential(
                    accessKeyID: keys.storeAccessKeyID, secretAccessKey: keys.storeSecretAccessKey),
                region: DemoWorld.region, ossRegion: DemoWorld.ossRegion, directory: directory.objects,
                outlet: outlet),
            logger: logger
        ) {
            SigningInstant(clampingEpochSeconds: Int64(Date.now.timeIntervalSince1970))
        }
        try store.makeBucket(DemoWorld.bucket)
        try store.makeBucket(DemoWorld.ossBucket)
        return store
    }
}
