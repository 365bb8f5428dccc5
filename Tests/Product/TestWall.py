#!/usr/bin/env python3
"""Times of day: --from and --to take them, replay --wall shows them, in local
time and in UTC.

The sessions are made up, so that their clock's readings are known; what the
local time is, Python's zoneinfo says.
"""

import datetime
import json
import os
import random
import re
import struct
import sys
import zoneinfo

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(__file__), '../Library')]
import StoreSupport as support                               # noqa: E402
import TestFilters as filters                                # noqa: E402
import TestQuestions as questions                            # noqa: E402
import MadeStores as made                                    # noqa: E402
from StoreSupport import programs                            # noqa: E402

FIRST = 1000                # the first record's time stamp, a nanosecond each
SECOND, DAY = 10 ** 9, 86400 * 10 ** 9
START = datetime.datetime(1601, 1, 1, tzinfo=datetime.timezone.utc)

# Winter and summer on both halves of the earth, and a quarter of an hour.
ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu',
         'Australia/Sydney']
DATES = ['2024-01-15T23:59:58.250', '2025-07-01T00:30:00.000',
         '2026-11-26T14:03:22.500']


def nanoseconds(moment):
    """Since 1601."""
    passed = moment - START
    return (passed.days * 86400 + passed.seconds) * SECOND + \
        passed.microseconds * 1000


def clock(wall):
    """HH:MM:SS.nnnnnnnnn, of nanoseconds since 1601."""
    seconds, rest = divmod(wall % DAY, SECOND)
    return '%02d:%02d:%02d.%09d' % (seconds // 3600, seconds // 60 % 60,
                                    seconds % 60, rest)


def day(wall):
    return (START + datetime.timedelta(days=wall // DAY)).strftime('%Y-%m-%d')


def make(scratch, name, start, step=10 ** 8):
    """A session that began then, with records some time apart."""
    folder = os.path.join(scratch, name)
    os.makedirs(folder)
    records = questions.make_thread(random.Random(2), 0, 60, 2)
    times = [FIRST + number * step for number in range(len(records))]
    records = [(time, *rest) for time, (_, *rest) in zip(times, records)]
    session = filters.make_session(folder, questions.NAMES, [records])
    for path in support.stores(session):
        with open(path, 'r+b') as file:
            for place, seconds in ((0xE0, 0), (0x100, 100)):
                values = (FIRST + seconds * SECOND, 500 + seconds * 10 ** 7,
                          start // 100 + seconds * 10 ** 7)
                file.seek(place)
                file.write(struct.pack('<4Q', *values, values[0] ^ values[1] ^
                                       values[2]))
    return session, [time - FIRST for time in times]


def ask(session, *arguments, zone='UTC', command='replay'):
    before = os.environ.get('TZ')
    os.environ['TZ'] = zone
    try:
        return support.reader(command, *arguments, '--no-cache',
                              programs.windows_path(session))
    finally:
        if before is None:
            del os.environ['TZ']
        else:
            os.environ['TZ'] = before


def check_shown(results, session, times, start, zone):
    """What --wall shows."""
    moment = (START + datetime.timedelta(microseconds=start // 1000))
    offset = moment.astimezone(zoneinfo.ZoneInfo(zone)).utcoffset()
    ahead = int(offset.total_seconds())
    sign = '%s%02d:%02d' % ('-' if ahead < 0 else '+', abs(ahead) // 3600,
                            abs(ahead) // 60 % 60)
    for word, shift, said in (('utc', 0, 'Z'),
                              ('local', ahead * SECOND, sign)):
        walls = [start + time + shift for time in times]
        code, text, told = ask(session, '--json', '--wall', word, zone=zone)
        rows = json.loads(text)['events'] if code == 0 else []
        ends = {row['time_ns'] for row in rows if row['event'] == 'open'}
        results.equal(
            [row['wall_time'] for row in rows if row['event'] != 'open'],
            ['%sT%s%s' % (day(wall), clock(wall), said) for wall in walls],
            '%s: --wall %s in %s' % (day(start), word, zone))
        results.equal(ends, {times[-1]}, 'what is open at the end')
        code, text, told = ask(session, '--wall', word, zone=zone)
        results.equal((code, text.split('Duration')[0].split()),
                      (0, [day(walls[0]), 'UTC' if word == 'utc' else sign]),
                      'the head says the day and the zone')
        shown = re.findall(r'(?m)^(\d\d:\d\d:\d\d\.\d{9}) ', text)
        results.check(set(shown) <= set(map(clock, walls)) and
                      shown[:1] == [clock(walls[0])] and len(shown) > 9,
                      'text', [shown[:3], told])
    return ahead * SECOND


def check_taken(results, session, times, start, zone, ahead):
    """What --from and --to take: what is shown can be given again."""
    for first, last in ((7, 20), (0, 3), (30, len(times) - 1)):
        wanted = times[first:last + 1]
        for shift, end in ((0, 'Z'), (ahead, '')):
            walls = [start + times[place] + shift for place in (first, last)]
            crossed = walls[0] // DAY != (start + shift) // DAY
            for dated in (True, False):
                given = [(day(wall) + 'T' if dated else '') + clock(wall) +
                         end for wall in walls]
                code, text, told = ask(session, '--json', '--from', given[0],
                                       '--to', given[1], zone=zone)
                rows = json.loads(text)['events'] if code == 0 else []
                results.equal(
                    [row['time_ns'] for row in rows if row['event'] != 'open'],
                    wanted, '--from %s --to %s in %s%s' % (
                        *given, zone, ', the next day' if crossed else ''))
    return crossed


def check_words(results, scratch, session, start):
    """What is no such time, and what is said of others."""
    good = day(start)
    for value in ('24:00', '12:60', '12:', '1:30', '12:30:60', '12:30:00.',
                  '12:30:00.1234567891', '12:30:00z1', '2023-02-29T12:00',
                  '2024-13-01T12:00', '2024-00-01T12:00', good,
                  '1600-01-01T00:00', '2184-01-01T00:00', '-12:30',
                  '2024-1-01T12:00', 'T12:30', '12:30:00,5'):
        code, text, told = ask(session, '--from', value)
        results.check(code == 1 and not text and 'it takes' in told,
                      'refused: ' + value, [code, told])
    for value in ('12:30', '12:30:00', '12:30:00.5z', good + ' 12:30',
                  good + 't12:30Z', '2024-02-29T12:00', '1601-01-01T00:00'):
        code, _, told = ask(session, '--to', value)
        results.check(code == 0, 'taken: ' + value, [told])
    code, _, told = ask(session, '--to', '2001-01-01T00:00Z')
    results.check('--to is before the session\'s first record' in told,
                  'before the session', [told])
    code, text, _ = ask(session, '--from', good + 'T00:00:00Z', '--to',
                        '2100-01-01T00:00Z', command='tree')
    results.check(code == 0 and 'Range: from %sT00:00:00Z to '
                  '2100-01-01T00:00Z.' % good in text,
                  'tree says its range', [text[-300:]])
    code, _, told = ask(session, '--wall', 'here')
    results.check(code == 1 and 'local or utc' in told, '--wall here', [told])

    # A clock whose rate is not known.
    for path in support.stores(session):
        with open(path, 'r+b') as file:
            file.seek(0xE0)
            file.write(bytes(64))
    for arguments in ('--wall', 'utc'), ('--from', '12:30'):
        code, text, told = ask(session, *arguments)
        results.check(code == 1 and not text and 'at what time of day' in
                      told, 'not known: %s' % arguments[0], [code, told])


def main():
    results = programs.Results()
    crossed = False
    with programs.Scratch() as scratch:
        for number, date in enumerate(DATES):
            start = nanoseconds(datetime.datetime.fromisoformat(
                date).replace(tzinfo=datetime.timezone.utc))
            session, times = make(scratch, 'date%d' % number, start)
            for zone in ZONES if programs.LONG else ZONES[number:number + 2]:
                ahead = check_shown(results, session, times, start, zone)
                crossed |= check_taken(results, session, times, start, zone,
                                       ahead)
        results.check(crossed, 'control: one session is of two days')
        check_words(results, scratch, session, start)
    return results.finish()


if __name__ == '__main__':
    sys.exit(main())
