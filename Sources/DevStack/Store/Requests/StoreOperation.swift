import Signing

/// An operation of the store. ``table`` lists all of them.
struct StoreOperation: Sendable {
    /// The operations by name.
    enum Name: String, Sendable, CaseIterable {
        case getObject, headObject, putObject, deleteObject
        case startUpload, putPart, listParts, completeUpload, abortUpload
        case headBucket, listObjects, listUploads, getVersioning, getLocation
        case postObject, deleteObjects, listBuckets
    }

    /// What the path of an operation names.
    enum Level: Sendable {
        case service, bucket, object
    }

    let name: Name
    let method: String
    let level: Level
    /// Parameters that must be in the query.
    let marks: Set<String>
    /// Further parameters that have a meaning for the operation.
    let options: Set<String>
    /// The permission, in the words of AWS and of Alibaba Cloud.
    let permission: (aws: String, alibaba: String)

    private init(
        _ name: Name, _ method: String, _ level: Level, _ marks: Set<String> = [], options: Set<String> = [],
        may permission: String, alibaba: String? = nil
    ) {
        self.name = name
        self.method = method
        self.level = level
        self.marks = marks
        self.options = options
        self.permission = ("s3:" + permission, "oss:" + (alibaba ?? permission))
    }

    /// Every operation, with its permission. Requests for anything else get 501.
    static let table = [
        StoreOperation(.getObject, "GET", .object, options: ["x-oss-process"], may: "GetObject"),
        StoreOperation(.headObject, "HEAD", .object, options: ["objectMeta", "x-oss-process"], may: "GetObject"),
        StoreOperation(.putObject, "PUT", .object, options: callbacks, may: "PutObject"),
        StoreOperation(.deleteObject, "DELETE", .object, may: "DeleteObject"),
        StoreOperation(.startUpload, "POST", .object, ["uploads"], options: ["sequential"], may: "PutObject"),
        StoreOperation(.putPart, "PUT", .object, ["uploadId", "partNumber"], may: "PutObject"),
        StoreOperation(
            .listParts, "GET", .object, ["uploadId"], may: "ListMultipartUploadParts", alibaba: "ListParts"),
        StoreOperation(.completeUpload, "POST", .object, ["uploadId"], options: callbacks, may: "PutObject"),
        StoreOperation(.abortUpload, "DELETE", .object, ["uploadId"], may: "AbortMultipartUpload"),
        StoreOperation(.headBucket, "HEAD", .bucket, may: "ListBucket", alibaba: "GetBucketInfo"),
        StoreOperation(
            .listObjects, "GET", .bucket, options: ["continuation-token"], may: "ListBucket", alibaba: "ListObjects"),
        StoreOperation(
            .listUploads, "GET", .bucket, ["uploads"], may: "ListBucketMultipartUploads",
            alibaba: "ListMultipartUploads"),
        StoreOperation(.getVersioning, "GET", .bucket, ["versioning"], may: "GetBucketVersioning"),
        StoreOperation(.getLocation, "GET", .bucket, ["location"], may: "GetBucketLocation"),
        StoreOperation(.postObject, "POST", .bucket, may: "PutObject"),
        // Its permission is needed for each object.
        StoreOperation(.deleteObjects, "POST", .bucket, ["delete"], may: "DeleteObject"),
        StoreOperation(
            .listBuckets, "GET", .service, options: ["continuation-token"], may: "ListAllMyBuckets",
            alibaba: "ListBuckets"),
    ]

    private static let callbacks: Set<String> = ["callback", "callback-var"]

    /// Finds the operation that a request asks for.
    ///
    /// - Throws: ``StoreError/notImplemented(_:)`` if there is none. A parameter that would turn the request into an
    ///   operation that this store lacks is not ignored.
    static func of(_ request: StoreRequest) throws(StoreError) -> StoreOperation {
        let level: Level
        switch request.place {
        case .service: level = .service
        case .bucket: level = .bucket
        case .object: level = .object
        }
        let candidates = table.filter { $0.method == request.method && $0.level == level }
        guard
            let found = candidates.filter({ $0.marks.allSatisfy(request.has) }).max(by: {
                $0.marks.count < $1.marks.count
            })
        else { throw .notImplemented("This store does not have this operation.") }
        for parameter in request.query where !found.marks.contains(parameter.name) {
            guard found.options.contains(parameter.name) || !SubresourceNames.all.contains(parameter.name.lowercased())
            else { throw .notImplemented("This store does not know the parameter \(parameter.name) here.") }
        }
        return found
    }
}

/// The parameters that version 2 signatures bind, and that select operations.
enum SubresourceNames {
    /// - SeeAlso: AWS, "Signing and authenticating REST requests (AWS signature version 2)".
    static let aws = words(
        """
        accelerate acl analytics cors defaultObjectAcl delete inventory lifecycle location logging metrics notification
        object-lock partNumber policy replication requestPayment restore response-cache-control
        response-content-disposition response-content-encoding response-content-language response-content-type
        response-expires select select-type storageClass tagging torrent uploadId uploads versionId versioning versions
        website
        """)

    /// - SeeAlso: Alibaba Cloud OSS, "Include signatures in the Authorization header", and the list in `oss2`.
    static let oss = words(
        """
        accessPoint accessPointPolicy acl append asyncFetch bucketArchiveDirectRead bucketInfo callback callback-var
        cloudboxes cname comp continuation-token cors delete encryption endTime group httpsConfig img inventory
        inventoryId lifecycle link live location logging metaQuery objectInfo objectMeta partNumber policy position
        publicAccessBlock qos qosInfo qosRequester redundancyTransition referer regionList replication
        replicationLocation replicationProgress requestPayment requesterQosInfo resourceGroup resourcePool
        resourcePoolBuckets resourcePoolInfo response-cache-control response-content-disposition
        response-content-encoding response-content-language response-content-type response-expires restore
        security-token sequential startTime stat status style styleName symlink tagging transferAcceleration uploadId
        uploads versionId versioning versions vod website worm wormExtend wormId x-oss-ac-forward-allow
        x-oss-ac-source-ip x-oss-ac-subnet-mask x-oss-ac-vpc-id x-oss-access-point-name x-oss-async-process x-oss-process
        x-oss-redundancy-transition-taskid x-oss-request-payer x-oss-target-redundancy-type x-oss-traffic-limit
        x-oss-write-get-object-response
        """)

    /// Every name that could select another operation, in lower case.
    static let all = Set(
        aws.union(oss).union(["attributes", "legal-hold", "renameObject", "retention", "session"])
            .map { $0.lowercased() }
            .filter { !$0.hasPrefix("response-") && $0 != "security-token" })

    private static func words(_ text: String) -> Set<String> {
        Set(text.split(whereSeparator: \.isWhitespace).map(String.init))
    }
}
