"""What is done to the deployment. Each fault ends by itself; nothing is repaired by hand afterwards."""

import signal
import time

# How long a machine stays frozen or cut off: longer than it takes the others to go on without it.
AWAY_SECONDS = 15


class Fault:
    """A name for the table, and what happens, which may take a while."""

    def __init__(self, name, act):
        self.name = name
        self.act = act


def kill_postgres(cluster, _gateways):
    primary = cluster.primary()
    primary.machine.signal(signal.SIGKILL, primary.postgres_processes())


def kill_machine(cluster, _gateways):
    cluster.primary().kill()


def freeze(cluster, _gateways):
    machine = cluster.primary().machine
    machine.freeze()
    time.sleep(AWAY_SECONDS)
    machine.thaw()


def freeze_postgres(cluster, _gateways):
    primary = cluster.primary()
    stopped = primary.postgres_processes()
    primary.machine.signal(signal.SIGSTOP, stopped)
    time.sleep(AWAY_SECONDS)
    primary.machine.signal(signal.SIGCONT, stopped)


def cut(cluster, _gateways):
    machine = cluster.primary().machine
    machine.cut()
    time.sleep(AWAY_SECONDS)
    machine.join()


def cut_from_cluster(cluster, _gateways):
    machine = cluster.primary().machine
    machine.cut("cluster")
    time.sleep(AWAY_SECONDS)
    machine.join()


def switch_over(cluster, _gateways):
    standby = cluster.of_role("sync_standby")
    cluster.control("switchover", "sluice", "--master", cluster.primary().name, "--candidate", standby.name, "--force")


def kill_standby(cluster, _gateways):
    cluster.of_role("sync_standby").kill()


def kill_etcd(cluster, _gateways):
    cluster.etcds[-1].machine.signal(signal.SIGKILL)


def freeze_etcd(cluster, _gateways):
    for etcd in cluster.etcds:
        etcd.machine.freeze()
    time.sleep(AWAY_SECONDS)
    for etcd in cluster.etcds:
        etcd.machine.thaw()


def restart_all(cluster, gateways):
    """Each database, each etcd and each gateway, one after the other, as for an update of the system."""
    for database in cluster.databases:
        database.patroni.stop()
        database.patroni.start()
        cluster.wait_until_whole(60)
    for etcd in cluster.etcds:
        etcd.process.stop()
        etcd.process.start()
        time.sleep(3)
    for gateway in gateways.all:
        gateway.restart()


ALL = [
    Fault("machine of the primary killed", kill_machine),
    Fault("postgres of the primary killed", kill_postgres),
    Fault("machine frozen 15 s", freeze),
    Fault("postgres frozen 15 s", freeze_postgres),
    Fault("cut off 15 s", cut),
    Fault("cut off from the cluster alone 15 s", cut_from_cluster),
    Fault("switchover", switch_over),
    Fault("synchronous standby killed", kill_standby),
    Fault("one etcd killed", kill_etcd),
    Fault("all of etcd frozen 15 s", freeze_etcd),
    Fault("everything restarted in turn", restart_all),
]
