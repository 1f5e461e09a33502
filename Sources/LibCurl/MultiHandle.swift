import CLibCurl
import Glibc

/// Owns a multi handle.
///
/// - Invariant: Only the thread of its ``TransferLoop`` uses it, except for ``wakeUp()``: curl_multi_wakeup(3) is the
///   one function that libcurl allows from every thread at any time (libcurl-thread(3)). The loop holds this object,
///   and the thread and all callers of ``wakeUp()`` hold the loop, so nobody can use the handle when it is freed.
@safe final class MultiHandle: @unchecked Sendable {
    private let pointer: UnsafeMutableRawPointer

    /// Makes a handle; `nil` without memory or descriptors.
    init?() {
        guard CurlLibrary.isSetUp, let pointer = unsafe curl_multi_init() else { return nil }
        unsafe self.pointer = pointer
    }

    deinit { unsafe curl_multi_cleanup(pointer) }

    /// Ends the wait of the loop's thread, or the next one (curl_multi_wakeup(3)).
    func wakeUp() {
        unsafe curl_multi_wakeup(pointer)
    }

    /// Begins a transfer.
    func add(_ transfer: EasyTransfer) -> Bool {
        unsafe curl_multi_add_handle(pointer, transfer.handle.pointer) == CURLM_OK
    }

    /// Ends a transfer at any stage. It must not be called inside a callback (curl_multi_remove_handle(3)). It closes
    /// sockets without waiting, because libcurl looks up no names.
    func remove(_ transfer: EasyTransfer) {
        unsafe curl_multi_remove_handle(pointer, transfer.handle.pointer)
    }

    /// Does all work that needs no waiting (curl_multi_perform(3)).
    func perform() {
        var count: Int32 = 0
        unsafe curl_multi_perform(pointer, &count)
    }

    /// A transfer that has ended, and its code. libcurl's data is valid only until the next call
    /// (curl_multi_info_read(3)).
    func nextEnded() -> (identity: UInt, code: CURLcode)? {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(pointer, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            return unsafe (UInt(bitPattern: message.pointee.easy_handle), message.pointee.data.result)
        }
        return nil
    }

    /// Waits until a socket is ready, libcurl has something to do, somebody calls ``wakeUp()``, or the time is over
    /// (curl_multi_poll(3)).
    func wait(until deadline: ContinuousClock.Instant?) {
        // The time is rounded up, so that the loop does not spin in the last millisecond.
        let left = deadline.map { ContinuousClock.now.duration(to: $0) / .milliseconds(1) + 1 } ?? 60_000
        let isDone = unsafe curl_multi_poll(pointer, nil, 0, Int32(min(60_000, max(0, left))), nil) == CURLM_OK
        // Without memory the call returns at once, repeatedly.
        if !isDone { usleep(10_000) }
    }
}
