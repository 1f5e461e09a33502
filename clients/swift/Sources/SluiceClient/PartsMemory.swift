/// Notes which parts have arrived, and has that kept: one state after another, the newest last.
actor PartsMemory {
    private(set) var begun: BegunUpload
    private let keep: @Sendable (BegunUpload) async -> Void
    private var isKeeping = false
    private var isStale = false

    init(_ begun: BegunUpload, keep: @escaping @Sendable (BegunUpload) async -> Void) {
        self.begun = begun
        self.keep = keep
    }

    func note(_ number: Int, _ tag: String?) async {
        begun.tags[number] = tag
        isStale = true
        guard !isKeeping else { return }
        isKeeping = true
        while isStale {
            isStale = false
            await keep(begun)
        }
        isKeeping = false
    }
}
