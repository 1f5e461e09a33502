extension CommandLine {
    /// The number of the first argument that is not UTF-8, counted from 1; `nil` if all are. In `arguments` such an
    /// argument is repaired, so that two of them may be equal there, or equal to a third that is UTF-8.
    public static var firstArgumentNotUTF8: Int? {
        let texts = unsafe CommandLine.unsafeArgv
        var number = 1
        while number < Int(argc) {
            if let text = unsafe texts[number], unsafe String(validatingCString: text) == nil { return number }
            number += 1
        }
        return nil
    }
}
