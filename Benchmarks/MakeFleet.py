#!/usr/bin/env python3
"""Makes the files of a fleet of those of a few sessions.

    TraceReader export --format parquet --append BASE --host one SESSION ...
    MakeFleet.py BASE FLEET HOSTS DAYS [FIRST]

BASE is a dataset of a few sessions; its builds, in their order, are given to
the days in equal parts.  Each host has on each day a copy of the files of one
session without histograms (a tree), and every tenth host those of one with
them as well.  What is in a file stays as TraceReader has written it: host,
date and program are those of the folders.  FIRST is the first day
(2026-11-01).
"""

import datetime
import glob
import os
import sys

FIRST = '2026-11-01'


def main():
    base, fleet, hosts, days, *more = sys.argv[1:]
    hosts, days = int(hosts), int(days)
    first = datetime.date.fromisoformat(*(more or [FIRST]))
    files = sorted(glob.glob(os.path.join(
        base, 'functions', 'host=*', 'date=*', 'program=*', '*.parquet')))
    data, kinds = [], {}
    for path in files:
        with open(path, 'rb') as file:
            data.append((os.path.basename(path),
                         os.path.basename(os.path.dirname(path)), file.read()))
        host = path.split('host=')[1].split(os.sep)[0]
        kinds.setdefault(host.rstrip('0123456789'), []).append(len(data) - 1)
    builds = sorted(kind for kind in kinds if kind.startswith('tree'))
    size = number = 0
    for host in range(hosts):
        for day in range(days):
            date = first + datetime.timedelta(day)
            kind = kinds[builds[day * len(builds) // days]]
            chosen = [kind[(host * 7 + day) % len(kind)]]
            if host % 10 == 0:
                chosen += kinds.get('calls', [])
            for index in chosen:
                name, program, content = data[index]
                folder = os.path.join(fleet, 'functions', 'host=h%04d' % host,
                                      'date=%s' % date, program)
                os.makedirs(folder, exist_ok=True)
                with open(os.path.join(folder, name), 'wb') as file:
                    file.write(content)
                size += len(content)
                number += 1
    print('%d files, %d bytes' % (number, size))


if __name__ == '__main__':
    main()
