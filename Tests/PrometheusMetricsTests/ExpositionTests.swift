import Metrics
import PrometheusMetrics
import Testing

@Suite("Metrics in Prometheus' text format")
struct ExpositionTests {
    private func text(_ factory: PrometheusFactory) -> String {
        String(decoding: factory.text(), as: UTF8.self)
    }

    @Test("counters, gauges and histograms are written with type, labels and values")
    func allKinds() {
        let factory = PrometheusFactory(buckets: [0.1, 1])
        Counter(label: "requests_total", dimensions: [("route", "/a"), ("method", "GET")], factory: factory)
            .increment(by: 3)
        let meter = Meter(label: "in_flight", dimensions: [], factory: factory)
        meter.increment(by: 5)
        meter.decrement(by: 2)
        let timer = Timer(label: "duration_seconds", dimensions: [("route", "/a")], factory: factory)
        timer.recordNanoseconds(100_000_000)
        timer.recordNanoseconds(500_000_000)
        timer.recordNanoseconds(7_000_000_000)
        #expect(
            text(factory) == """
                # TYPE duration_seconds histogram
                duration_seconds_bucket{route="/a",le="0.1"} 1
                duration_seconds_bucket{route="/a",le="1"} 2
                duration_seconds_bucket{route="/a",le="+Inf"} 3
                duration_seconds_sum{route="/a"} 7.6
                duration_seconds_count{route="/a"} 3
                # TYPE in_flight gauge
                in_flight 3
                # TYPE requests_total counter
                requests_total{method="GET",route="/a"} 3

                """)
    }

    @Test("the same name and labels, in any order, are one series")
    func oneSeries() {
        let factory = PrometheusFactory()
        Counter(label: "c", dimensions: [("a", "1"), ("b", "2")], factory: factory).increment()
        Counter(label: "c", dimensions: [("b", "2"), ("a", "1")], factory: factory).increment()
        #expect(text(factory) == "# TYPE c counter\nc{a=\"1\",b=\"2\"} 2\n")
    }

    @Test("label values cannot break out of their quotes, names are made valid")
    func hostileLabels() {
        let factory = PrometheusFactory()
        Counter(label: "9 l'eau", dimensions: [("a.b", "x\"} 1\n\\y")], factory: factory).increment()
        #expect(text(factory) == "# TYPE _9_l_eau counter\n_9_l_eau{a_b=\"x\\\"} 1\\n\\\\y\"} 1\n")
    }

    @Test("beyond its limit of series a metric counts on in one whose labels read other")
    func bounded() {
        let factory = PrometheusFactory(maxSeriesPerMetric: 2)
        for value in 0..<100 {
            Counter(label: "c", dimensions: [("v", String(value))], factory: factory).increment()
        }
        #expect(text(factory) == "# TYPE c counter\nc{v=\"0\"} 1\nc{v=\"1\"} 1\nc{v=\"other\"} 98\n")
    }

    @Test("a name keeps its first type")
    func oneType() {
        let factory = PrometheusFactory()
        Counter(label: "x", dimensions: [], factory: factory).increment()
        Gauge(label: "x", dimensions: [], factory: factory).record(7)
        #expect(text(factory) == "# TYPE x counter\nx 1\n")
    }

    @Test("counters never fall; gauges may, and hold the last value; what is no number is left out")
    func numbers() {
        let factory = PrometheusFactory(buckets: [1])
        let counter = FloatingPointCounter(label: "c", dimensions: [], factory: factory)
        counter.increment(by: 2.5)
        Gauge(label: "g", dimensions: [], factory: factory).record(-0.25)
        let recorder = Recorder(label: "h", dimensions: [], aggregate: true, factory: factory)
        recorder.record(Double.nan)
        recorder.record(1)
        #expect(
            text(factory) == """
                # TYPE c counter
                c 2.5
                # TYPE g gauge
                g -0.25
                # TYPE h histogram
                h_bucket{le="1"} 1
                h_bucket{le="+Inf"} 1
                h_sum 1
                h_count 1

                """)
    }

    @Test("increments from many tasks are all counted")
    func concurrent() async {
        let factory = PrometheusFactory()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 { Counter(label: "c", dimensions: [("k", "v")], factory: factory).increment() }
                }
            }
        }
        #expect(text(factory) == "# TYPE c counter\nc{k=\"v\"} 8000\n")
    }
}
