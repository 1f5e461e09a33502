import HTTPServing

extension ObjectService {
    /// Lists the buckets, which are all of one owner.
    ///
    /// - Parameter region: The region as the dialect names it.
    func listBuckets(_ request: StoreRequest, _ dialect: StoreDialect, region: String) throws -> ServerResponse {
        let names: (most: String, after: String) =
            dialect == .s3 ? ("max-buckets", "continuation-token") : ("max-keys", "marker")
        let prefix = try request.parameter("prefix") ?? ""
        let after = try request.parameter(names.after) ?? ""
        let most = try ListingQuery.count(request.parameter(names.most), names.most)
        let rest = try files.buckets().filter {
            $0.name.utf8.starts(with: prefix.utf8) && after.utf8.lexicographicallyPrecedes($0.name.utf8)
        }
        let page = rest.prefix(most)
        let next = page.count < rest.count ? page.last?.name : nil
        let buckets = page.map { bucket in
            let more =
                dialect == .s3
                ? [StoreXML("BucketRegion", region)]
                : [
                    StoreXML("Location", region), StoreXML("StorageClass", "Standard"),
                    StoreXML("ExtranetEndpoint", "localhost"), StoreXML("IntranetEndpoint", "localhost"),
                ]
            return StoreXML(
                "Bucket",
                [StoreXML("Name", bucket.name), StoreXML("CreationDate", Self.time(bucket.createdAt))] + more)
        }
        var children = [
            StoreXML("Owner", [StoreXML("ID", "sluice-demo"), StoreXML("DisplayName", "sluice-demo")]),
            StoreXML("Buckets", buckets), StoreXML("Prefix", prefix),
        ]
        if dialect == .oss {
            children += [
                StoreXML("Marker", after), StoreXML("MaxKeys", "\(most)"), StoreXML("IsTruncated", "\(next != nil)"),
            ]
        }
        if let next { children.append(StoreXML(dialect == .s3 ? "ContinuationToken" : "NextMarker", next)) }
        return StoreXML("ListAllMyBucketsResult", namespace: dialect.namespace, children).response()
    }
}
