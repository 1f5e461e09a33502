import Glibc

/// How many files the process may have open.
enum DescriptorLimit {
    /// More is of no use here, and some systems put the hard limit at a thousand million.
    private static let most: rlim_t = 1 << 20

    /// Raises the soft limit, which is low for the sake of programs that call `select`, as far as the hard one lets it.
    ///
    /// - Returns: The limit that holds now.
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
