import PhotosUI
import SwiftUI

/// Asks for the gateway and the key.
struct SignInView: View {
    let signIn: (Account) -> Void
    @State private var gateway = "http://127.0.0.1:8080"
    @State private var bucket = "demo"
    @State private var prefix = "users/alice/"
    @State private var key = ""

    var body: some View {
        Form {
            TextField("Gateway", text: $gateway).keyboardType(.URL).textInputAutocapitalization(.never)
            TextField("Bucket", text: $bucket).textInputAutocapitalization(.never)
            TextField("Prefix", text: $prefix).textInputAutocapitalization(.never)
            SecureField("API key", text: $key)
            Button("Sign in") {
                guard let url = URL(string: gateway) else { return }
                signIn(Account(gateway: url, bucket: bucket, prefix: prefix, key: key))
            }
            .disabled(key.isEmpty || URL(string: gateway) == nil)
        }
    }
}

/// The uploads, and what has arrived.
struct UploadsView: View {
    let list: UploadList
    @State private var chosen: [PhotosPickerItem] = []

    var body: some View {
        NavigationStack {
            List {
                Section("Uploads") {
                    ForEach(list.items) { UploadRow(list: list, item: $0) }
                }
                Section("Arrived") {
                    ScrollView(.horizontal) {
                        HStack {
                            ForEach(list.links, id: \.self) { link in
                                AsyncImage(url: link) {
                                    $0.resizable().scaledToFill()
                                } placeholder: {
                                    ProgressView()
                                }
                                .frame(width: 96, height: 96)
                                .clipShape(RoundedRectangle(cornerRadius: 8))
                            }
                        }
                    }
                }
            }
            .navigationTitle("Sluice")
            .toolbar { PhotosPicker("Add", selection: $chosen) }
            .onChange(of: chosen) { add(chosen) }
            .task { await list.refreshLinks() }
        }
    }

    private func add(_ items: [PhotosPickerItem]) {
        chosen = []
        for item in items {
            Task {
                guard let copy = try? await item.loadTransferable(type: CopiedFile.self) else { return }
                list.add(copy.url)
            }
        }
    }
}

/// One upload, with what can be done about it.
struct UploadRow: View {
    let list: UploadList
    let item: UploadList.Item

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(item.file.lastPathComponent).lineLimit(1)
                switch item.state {
                case .waiting: Text("Waiting").foregroundStyle(.secondary)
                case .sending(let fraction): ProgressView(value: fraction)
                case .paused: Text("Paused").foregroundStyle(.secondary)
                case .arrived: Text("Arrived").foregroundStyle(.green)
                case .failed(let reason): Text(reason).foregroundStyle(.red)
                }
            }
            switch item.state {
            case .sending: Button("Pause", systemImage: "pause") { list.pause(item) }
            case .paused, .failed: Button("Continue", systemImage: "play") { list.start(item) }
            case .waiting, .arrived: EmptyView()
            }
        }
        .labelStyle(.iconOnly)
        .swipeActions { Button("Remove", role: .destructive) { list.remove(item) } }
    }
}

/// A file of the photo library, copied to where the app keeps what it sends.
private struct CopiedFile: Transferable {
    let url: URL

    static var transferRepresentation: some TransferRepresentation {
        FileRepresentation(importedContentType: .item) { received in
            try FileManager.default.createDirectory(at: UploadList.directory, withIntermediateDirectories: true)
            let copy = UploadList.directory.appending(path: "\(UUID().uuidString).\(received.file.pathExtension)")
            try FileManager.default.copyItem(at: received.file, to: copy)
            return CopiedFile(url: copy)
        }
    }
}
