import LocalFiles

/// Content types by the extension of a file's name.
enum ContentTypes {
    /// The type of files without a known extension.
    static let unknown = "application/octet-stream"

    /// The type for the name of a file or the key of an object.
    static func type(of name: String) -> String {
        FileName.fileExtension(name).flatMap { known[$0] } ?? unknown
    }

    private static let known: [String: String] = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac", "avif": "image/avif", "avi": "video/x-msvideo",
        "bmp": "image/bmp", "bz2": "application/x-bzip2", "css": "text/css; charset=utf-8",
        "csv": "text/csv; charset=utf-8", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip",
        "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif",
        "htm": "text/html; charset=utf-8", "html": "text/html; charset=utf-8", "ico": "image/vnd.microsoft.icon",
        "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript; charset=utf-8", "json": "application/json",
        "jsonl": "application/x-ndjson", "log": "text/plain; charset=utf-8", "m4a": "audio/mp4", "m4v": "video/mp4",
        "md": "text/markdown; charset=utf-8", "mjs": "text/javascript; charset=utf-8", "mkv": "video/x-matroska",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "ndjson": "application/x-ndjson", "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "ogg": "audio/ogg", "opus": "audio/opus", "otf": "font/otf", "parquet": "application/vnd.apache.parquet",
        "pdf": "application/pdf", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "ps": "application/postscript",
        "rtf": "application/rtf", "sql": "application/sql", "svg": "image/svg+xml", "tar": "application/x-tar",
        "tgz": "application/gzip", "tif": "image/tiff", "tiff": "image/tiff", "toml": "application/toml",
        "ts": "video/mp2t", "tsv": "text/tab-separated-values; charset=utf-8", "ttf": "font/ttf",
        "txt": "text/plain; charset=utf-8", "wasm": "application/wasm", "wav": "audio/wav", "webm": "video/webm",
        "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "xz": "application/x-xz", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
