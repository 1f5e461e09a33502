import Figures
import PrometheusMetrics
import Testing

@Suite struct `Metrics in Prometheus' text format` {
    private func text(_ page: MetricsPage) -> String {
        String(decoding: page.text(), as: UTF8.self)
    }

    @Test func `each kind is written with its meaning, type, labels and values, sorted by name`() {
        let page = MetricsPage()
        let requests = Counter()
        page.addCounter("requests_total", "Requests.", labels: [("method", "GET"), ("route", "/a")], requests)
        let level = Level()
        page.addGauge("in_flight", "Under way.") { Double(level.value) }
        let durations = Histogram(bounds: [0.1, 1], perUnit: 1_000_000_000)
        page.addHistogram("duration_seconds", "Time.", labels: [("route", "/a")], durations)
        requests.add(3)
        level.rise()
        level.rise()
        level.fall()
        durations.observe(100_000_000)
        durations.observe(.milliseconds(500))
        durations.observe(7_000_000_000)
        #expect(
            text(page) == """
                # HELP duration_seconds Time.
                # TYPE duration_seconds histogram
                duration_seconds_bucket{route="/a",le="0.1"} 1
                duration_seconds_bucket{route="/a",le="1"} 2
                duration_seconds_bucket{route="/a",le="+Inf"} 3
                duration_seconds_sum{route="/a"} 7.6
                duration_seconds_count{route="/a"} 3
                # HELP in_flight Under way.
                # TYPE in_flight gauge
                in_flight 1
                # HELP requests_total Requests.
                # TYPE requests_total counter
                requests_total{method="GET",route="/a"} 3

                """)
    }

    @Test func `series are there before anything was counted`() {
        let page = MetricsPage()
        page.addCounter("c_total", "C.", Counter())
        page.addHistogram("h", "H.", Histogram(bounds: [1]))
        #expect(
            text(page) == """
                # HELP c_total C.
                # TYPE c_total counter
                c_total 0
                # HELP h H.
                # TYPE h histogram
                h_bucket{le="1"} 0
                h_bucket{le="+Inf"} 0
                h_sum 0
                h_count 0

                """)
    }

    @Test func `values of labels and meanings cannot break out of their line`() {
        let page = MetricsPage()
        page.addGauge("g", "One \\ line\nand \"no\" more.", labels: [("a", "x\"} 1\n\\y")]) { -0.25 }
        #expect(
            text(page) == """
                # HELP g One \\\\ line\\nand "no" more.
                # TYPE g gauge
                g{a="x\\"} 1\\n\\\\y"} -0.25

                """)
    }

    @Test(arguments: [(Double.infinity, "+Inf"), (-Double.infinity, "-Inf"), (.nan, "NaN"), (1e20, "1e+20"), (7, "7")])
    func `a number is written as Prometheus reads it`(number: Double, expected: String) {
        let page = MetricsPage()
        page.addGauge("g", "G.") { number }
        #expect(text(page).split(separator: "\n").last == "g \(expected)")
    }

    @Test func `what many threads count is all counted`() async {
        let (counter, histogram, level) = (Counter(), Histogram(bounds: [1, 2]), Level())
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for size in 0..<1000 {
                        counter.add()
                        level.rise()
                        histogram.observe(Int64(size % 4))
                    }
                }
            }
        }
        #expect(counter.value == 8000 && level.value == 8000)
        #expect(histogram.reading.cumulativeCounts == [4000, 6000, 8000] && histogram.reading.sum == 12_000)
    }
}
