// Uploads five files by the list of examples/ios, without its views. Prints how many were sent at once at most, and how
// many have arrived. A sixth file was removed in an earlier launch, which ended before nothing was left of it.

import Foundation
import SluiceClient

let settings = ProcessInfo.processInfo.environment
guard let url = URL(string: settings["SLUICE_URL"] ?? ""), let key = settings["SLUICE_KEY"]
else { fatalError("Set SLUICE_URL and SLUICE_KEY.") }
try FileManager.default.createDirectory(at: UploadList.directory, withIntermediateDirectories: true)
for number in 1...5 {
    let file = UploadList.directory.appending(path: "\(number).bin")
    try Data(repeating: UInt8(number), count: 100_000).write(to: file)
}
let removed = UploadList.directory.appending(path: "6.bin")
try Data(repeating: 6, count: 100_000).write(to: removed)
UserDefaults.standard.set(["6.bin"], forKey: "removed")
let list = UploadList(Account(gateway: url, bucket: "demo", prefix: "users/alice/example/", key: key))
var most = 0
var arrived = 0
while arrived < list.items.count {
    var sending = 0
    arrived = 0
    for item in list.items {
        switch item.state {
        case .waiting: break
        case .sending: sending += 1
        case .arrived: arrived += 1
        case .paused, .failed: fatalError("\(item.state)")
        }
    }
    most = max(most, sending)
    try await Task.sleep(for: .milliseconds(1))
}
while FileManager.default.fileExists(atPath: removed.path) { try await Task.sleep(for: .milliseconds(1)) }
print(most, arrived)
