-- What wrk sends: `-- PATH FILE THREADS`, with one JSON body and one bearer token a line of the file, tab between them.
-- A line may have a third column, which takes the place of `{}` in the path. Without a body, the request is a GET.
-- Each thread has a share of the lines and sends them one after another, so that callers are distinct.
local threads = 0

function setup(thread)
    thread:set("share", threads)
    threads = threads + 1
end

function init(arguments)
    prepared, at = {}, 0
    local line_number, parts = 0, tonumber(arguments[3])
    for line in io.lines(arguments[2]) do
        if line_number % parts == share then
            local body, token, word = line:match("^([^\t]*)\t([^\t]*)\t?(.*)$")
            local path = arguments[1]:gsub("{}", word)
            local headers = { ["Authorization"] = "Bearer " .. token }
            if body == "" then
                prepared[#prepared + 1] = wrk.format("GET", path, headers)
            else
                headers["Content-Type"] = "application/json"
                prepared[#prepared + 1] = wrk.format("POST", path, headers, body)
            end
        end
        line_number = line_number + 1
    end
end

function request()
    at = at % #prepared + 1
    return prepared[at]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        'SUMMARY {"answers": %d, "microseconds": %d, "connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d, '
            .. '"p50": %.1f, "p99": %.1f, "slowest": %.1f}\n',
        summary.requests, summary.duration, errors.connect, errors.read, errors.write, errors.status, errors.timeout,
        latency:percentile(50), latency:percentile(99), latency.max
    ))
end
