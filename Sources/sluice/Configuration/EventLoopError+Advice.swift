import EventLoops

extension EventLoopError {
    /// What an operator can do.
    var advice: String {
        "Raise the limit of open files, by 'LimitNOFILE=' in the unit or 'ulimit -n', and look at what holds so many."
    }
}
