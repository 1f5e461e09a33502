extension HTTPServer {
    /// Descriptors that there must be besides the reserved ones: for files that are open all the time, and for a few
    /// clients.
    static let leastDescriptors = 128

    /// Checks that a server could have clients, once the limit of open files is raised as far as possible.
    ///
    /// - Parameter reserved: Descriptors for the rest of the process.
    /// - Throws: ``HTTPServerError/tooFewDescriptors(limit:needed:)``.
    public static func checkDescriptors(reserving reserved: Int) throws(HTTPServerError) {
        let (limit, needed) = (DescriptorLimit.raise(), reserved + leastDescriptors)
        guard limit >= needed else { throw .tooFewDescriptors(limit: limit, needed: needed) }
    }
}
