"""Load with a fault each minute, and what each gateway takes up meanwhile."""

import asyncio
import statistics
import sys
import time
import urllib.request

import faults

SAMPLE_SECONDS = 5
FAULT_SECONDS = 60
# What may be added between the second quarter and the last: memory in parts of what it was, and descriptors.
MOST_GROWTH, MOST_DESCRIPTORS = 0.1, 20


class Soak:
    def __init__(self, campaign, minutes):
        self.campaign = campaign
        self.seconds = minutes * 60
        # Of each gateway: (instant, MB resident, descriptors, requests in flight)
        self.samples = {one.number: [] for one in campaign.gateways.all}

    async def run(self):
        campaign = self.campaign
        async with campaign.going_on():
            sampling = asyncio.create_task(self._sample())
            began = time.monotonic()
            number = 0
            chosen = [fault for fault in faults.ALL if fault.act is not faults.restart_all]
            while time.monotonic() - began < self.seconds:
                started = time.monotonic()
                await campaign.round(number, chosen[number % len(chosen)])
                number += 1
                await asyncio.sleep(max(0, FAULT_SECONDS - (time.monotonic() - started)))
            sampling.cancel()
        await campaign.finish()
        self._judge()

    async def _sample(self):
        while True:
            for one in self.campaign.gateways.all:
                self.samples[one.number].append(
                    (time.monotonic(), *one.resources(), await asyncio.to_thread(_in_flight, one)))
            await asyncio.sleep(SAMPLE_SECONDS)

    def _judge(self):
        for number, samples in self.samples.items():
            (memory, descriptors, _), (then_memory, then_descriptors, _) = self._quarter(samples, 1), self._quarter(samples, 3)
            if then_memory > memory * (1 + MOST_GROWTH):
                self.campaign.remarks.append(f"gateway {number} grew from {memory:.0f} to {then_memory:.0f} MB.")
            if then_descriptors > descriptors + MOST_DESCRIPTORS:
                self.campaign.remarks.append(
                    f"gateway {number} opened {then_descriptors - descriptors:.0f} descriptors more.")

    @staticmethod
    def _quarter(samples, number):
        size = max(1, len(samples) // 4)
        part = samples[number * size:(number + 1) * size] or samples[-size:]
        return [statistics.median(values) for values in list(zip(*part))[1:]]

    def table(self):
        rows = ["| gateway | quarter | MB resident | descriptors | requests in flight |", "| --- | --- | ---: | ---: | ---: |"]
        for number, samples in self.samples.items():
            for quarter in range(4):
                memory, descriptors, in_flight = self._quarter(samples, quarter)
                rows.append(f"| {number} | {quarter + 1} | {memory:.1f} | {descriptors:.0f} | {in_flight:.0f} |")
        return "\n".join(rows)


def _in_flight(gateway):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{gateway.port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    except OSError as error:
        print(f"gateway {gateway.number}: no metrics: {error}", file=sys.stderr)
        return 0
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("sluice_http_requests_in_flight"))
