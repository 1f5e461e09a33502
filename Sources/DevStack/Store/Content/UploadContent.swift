import HTTPServing

/// The body of an upload, and what verifies its chunks.
struct UploadContent: Sendable {
    let body: RequestBody
    /// `nil` unless the chunks of the body have signatures.
    let seed: ChunkSeed?
}
