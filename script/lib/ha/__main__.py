"""Runs Sluice on PostgreSQL under Patroni and does harm to it; see script/ha."""

import argparse
import asyncio
import signal
import sys
import traceback
from pathlib import Path

import faults
import network
from backup import Rehearsal
from campaign import Campaign
from cluster import Cluster
from gateways import Gateways
from soak import Soak


def options():
    parser = argparse.ArgumentParser(
        prog="script/ha",
        description="Starts three PostgreSQLs under Patroni, etcd and three gateways, each database and etcd on a machine of"
                    " its own (a namespace of the kernel), with the files of ops/patroni. Nothing of it is left when the"
                    " program ends. Needs root.")
    parser.add_argument("--binary", type=Path, help="a built sluice; built for release when left out")
    parser.add_argument("--keep", action="store_true", help="leave the directory with the logs")
    # Made and removed by script/ha.
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="start everything and wait for Control-C")
    test = commands.add_parser(
        "test", help="do harm under load, print the table; status 1 when a promise is not kept")
    test.add_argument("--rounds", type=int, default=20, help="faults in all, each kind in turn (%(default)s)")
    test.add_argument("--faults", type=lambda text: [int(number) for number in text.split(",")],
                      help="the kinds to choose from, by number: "
                           + ", ".join(f"{number} {fault.name}" for number, fault in enumerate(faults.ALL, 1)))
    soak = commands.add_parser("soak", help="load with a fault each minute; memory and descriptors of each gateway")
    soak.add_argument("--minutes", type=float, default=60, help="%(default)s")
    commands.add_parser("backup", help="restore a dump and a base backup to a moment, and go on serving")
    for one in (run, test, soak):
        one.add_argument("--etcds", type=int, choices=(1, 3), default=3, help="%(default)s")
    for one in (test, soak):
        one.add_argument("--rate", type=int, default=150, help="requests a second, over all gateways (%(default)s)")
    return parser.parse_args()


def main():
    chosen = options()
    directory = chosen.directory
    try:
        if chosen.command == "backup":
            return Rehearsal(chosen.binary, directory).run()
        network.prepare()
        cluster = Cluster(directory, chosen.etcds)
        cluster.start()
        gateways = Gateways(cluster, chosen.binary, directory)
        gateways.start()
        return COMMANDS[chosen.command](chosen, cluster, gateways)
    except Exception:
        traceback.print_exc()
        return 2


def run(_chosen, cluster, gateways):
    print(f"gateways on the ports {', '.join(str(one.port) for one in gateways.all)} of this network, which\n"
          f"    nsenter --target $(pgrep --full '^bash.*{cluster.directory}') --net --mount --pid\nenters; key of the admin: "
          f"{gateways.admin_key}\nlogs: {cluster.directory}", flush=True)
    signal.pause()


def test(chosen, cluster, gateways):
    kinds = [faults.ALL[number - 1] for number in chosen.faults] if chosen.faults else faults.ALL
    campaign = Campaign(cluster, gateways, chosen.rate)
    asyncio.run(campaign.run([kinds[number % len(kinds)] for number in range(chosen.rounds)]))
    print(campaign.table(), flush=True)
    return 0 if campaign.is_kept else 1


def soak(chosen, cluster, gateways):
    campaign = Campaign(cluster, gateways, chosen.rate)
    soaking = Soak(campaign, chosen.minutes)
    asyncio.run(soaking.run())
    print(campaign.table() + "\n\n" + soaking.table(), flush=True)
    return 0 if campaign.is_kept else 1


COMMANDS = {"run": run, "test": test, "soak": soak}

if __name__ == "__main__":
    sys.exit(main())
