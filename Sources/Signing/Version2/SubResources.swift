/// The query parameters that a "version 2" scheme signs.
///
/// Names are case sensitive. Whoever holds the URL can change the parameters that are not signed.
enum SubResources: Sendable {
    /// The listed parameters.
    case listed(Set<String>)
    /// All but the listed parameters.
    case allBut(Set<String>)

    /// Whether a parameter is signed.
    func contain(_ name: some StringProtocol) -> Bool {
        switch self {
        case .listed(let names): Self.holds(names, name)
        case .allBut(let names): !Self.holds(names, name)
        }
    }

    // As text, a character beyond ASCII can equal one within ASCII.
    private static func holds(_ names: Set<String>, _ name: some StringProtocol) -> Bool {
        name.utf8.allSatisfy { $0 < 0x80 } && names.contains(String(name))
    }

    private static func words(_ text: String) -> Set<String> {
        Set(text.split { $0 == " " || $0 == "\n" }.map(String.init))
    }

    /// - SeeAlso: The list of `oss2` 2.19.1, the longest of the official clients.
    static let oss = listed(
        words(
            """
            acl append asyncFetch accessPoint accessPointPolicy bucketArchiveDirectRead bucketInfo callback
            callback-var cloudboxes cname comp continuation-token cors delete encryption endTime group httpsConfig
            img inventory inventoryId lifecycle link live location logging metaQuery objectInfo objectMeta partNumber
            policy position publicAccessBlock qos qosInfo qosRequester redundancyTransition referer regionList
            replication replicationLocation replicationProgress requestPayment requesterQosInfo resourceGroup
            resourcePool resourcePoolBuckets resourcePoolInfo response-cache-control response-content-disposition
            response-content-encoding response-content-language response-content-type response-expires restore
            security-token sequential startTime stat status style styleName symlink tagging transferAcceleration
            uploadId uploads versionId versioning versions vod website worm wormExtend wormId
            x-oss-ac-forward-allow x-oss-ac-source-ip x-oss-ac-subnet-mask x-oss-ac-vpc-id x-oss-access-point-name
            x-oss-async-process x-oss-process x-oss-redundancy-transition-taskid x-oss-request-payer
            x-oss-target-redundancy-type x-oss-traffic-limit x-oss-write-get-object-response
            """))

    /// - SeeAlso: AWS, "Signing and authenticating REST requests (AWS signature version 2)", and `botocore`.
    static let amazon = listed(
        words(
            """
            accelerate acl analytics cors defaultObjectAcl delete inventory lifecycle location logging metrics
            notification object-lock partNumber policy replication requestPayment restore response-cache-control
            response-content-disposition response-content-encoding response-content-language response-content-type
            response-expires select select-type storageClass tagging torrent uploadId uploads versionId versioning
            versions website
            """))

    /// `google-cloud-storage` adds these after signing, and signs all others.
    static let google = allBut(["response-content-disposition", "response-content-type", "generation"])
}
