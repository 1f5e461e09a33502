// Uploads one file, as standard input says in JSON. Prints lines of JSON: {"told": bytes} while bytes are sent, then
// {"result": {…}, "memory": most resident bytes}. Tests end it half way and start it again.

import Foundation
import SluiceClient

struct Job: Decodable {
    let gateway: URL
    let token: String
    let bucket: String
    let key: String
    let file: URL
    let states: URL
    let partSize: Int64
}

func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

/// The most memory that was resident, in bytes.
func peak() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (line.split(separator: " ").compactMap { Int($0) }.first ?? 0) * 1024
}

let job = try JSONDecoder().decode(Job.self, from: FileHandle.standardInput.readDataToEndOfFile())
var options = Sluice.Options()
options.partSize = job.partSize
options.retries = 8
let client = Sluice(
    url: job.gateway, states: DirectoryStateStore(job.states), options: options, token: job.token)
let upload = client.upload(
    file: job.file, to: .init(bucket: job.bucket, key: job.key, contentType: "video/mp4"))
for await progress in upload.progress { say("{\"told\": \(progress.loaded)}") }
let done = try await upload.value
say(
    """
    {"result": {"state": "\(done.state.map { "\($0)" } ?? "")", "size": \(done.size), "parts": \(done.parts ?? 0)}, \
    "memory": \(peak())}
    """)
