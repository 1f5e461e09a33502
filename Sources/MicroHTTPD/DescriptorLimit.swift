import Glibc

/// How many files the process may have open.
enum DescriptorLimit {
    /// More descriptors are of no use here, and some systems set the hard limit to a billion.
    private static let most: rlim_t = 1 << 20

    /// Raises the soft limit as far as the hard limit allows. The soft limit is low for the sake of programs that call
    /// `select`.
    ///
    /// - Returns: The limit that is now in force.
    static func raise() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        let wanted = min(limit.rlim_max, most)
        if wanted > limit.rlim_cur {
            var raised = limit
            raised.rlim_cur = wanted
            if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
