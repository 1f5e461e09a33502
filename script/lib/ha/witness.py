"""Who sees from outside when the database takes writes: a session beside the gateways at each of the three."""

import threading
import time

import psycopg2

PAUSE = 0.04


class Witness:
    """Writes a row at each database again and again, and keeps when it was acknowledged and by whom."""

    def __init__(self, cluster):
        self.cluster = cluster
        # (instant, database, number of the row)
        self.writes = []
        self.number = 0
        self.lock = threading.Lock()

    def start(self):
        session = self._connect(self.cluster.primary())
        with session.cursor() as cursor:
            cursor.execute("CREATE TABLE writes (number bigint PRIMARY KEY)")
        session.close()
        for database in self.cluster.databases:
            threading.Thread(target=self._write, args=(database,), daemon=True).start()

    def lost(self):
        """Rows that were acknowledged and are not there: the cluster's loss, whatever gateways do."""
        numbers = [number for _, _, number in list(self.writes)]
        return self.cluster.query(
            "SELECT count(*) FROM unnest(%s::bigint[]) n WHERE NOT EXISTS (SELECT FROM writes w WHERE w.number = n)",
            numbers, database="probe")[0][0]

    def _connect(self, database):
        session = psycopg2.connect(
            host=database.machine.address, user="sluice_owner", dbname="probe", connect_timeout=2,
            password=self.cluster.passwords["sluice_owner"], keepalives_idle=1, keepalives_interval=1,
            keepalives_count=2, tcp_user_timeout=2000, options="-c statement_timeout=2000")
        session.autocommit = True
        return session

    def _write(self, database):
        while True:
            try:
                session = self._connect(database)
                while True:
                    with session.cursor() as cursor:
                        cursor.execute("SELECT pg_is_in_recovery()")
                        if not cursor.fetchone()[0]:
                            self._write_one(session, cursor, database)
                    time.sleep(PAUSE)
            except psycopg2.Error:
                time.sleep(PAUSE)

    def _write_one(self, session, cursor, database):
        with self.lock:
            self.number += 1
            number = self.number
        session.notices.clear()
        cursor.execute("INSERT INTO writes VALUES (%s)", (number,))
        # A notice says that the wait for the standby was cut short.
        if not session.notices:
            self.writes.append((time.monotonic(), database.name, number))
